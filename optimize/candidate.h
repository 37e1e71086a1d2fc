#pragma once

#include "coding/code.h"
#include "coding/matrix.h"
#include "optimize/objective.h"

namespace cerar {

/// Encoders as the wire has them, with the decoder that suits them best: from U to a Code.
struct CandidateContext {
  RingShape shape;
  Decoder decoder = Decoder::own_exact;
  std::int64_t first_kept_round = 1;
  NoiseModel noise;
  NoiseEntry entry = NoiseEntry::operations;
  double white = 0;  ///< as ErrorModel has it
};

/// The squared relative error that the best R leaves once the encoders are rounded to the wire (docs/theory.md, eq. 11
/// without the decoder's additions), mean over the workers (`symmetric`: of worker 0, which stands for all); infinite
/// if an encoder is not finite.
/// @param encoders  U_0 .. U_{N-1}, each L x c
[[nodiscard]] double candidate_error(const CandidateContext& context, const Matrices<double>& encoders, bool symmetric);

/// The code with these encoders, rounded to the wire, and the best R for them. Construction and prediction are empty.
[[nodiscard]] Code make_candidate(const CandidateContext& context, const Matrices<double>& encoders);

/// The encoders times one factor, chosen so that they lose least by being rounded to the wire; the largest row has a
/// norm between 1 and 2. A code's error does not depend on such a factor.
[[nodiscard]] Matrices<double> scaled_to_wire(const CandidateContext& context, const Matrices<double>& encoders,
                                              bool symmetric);

}  // namespace cerar
