#pragma once

#include "coding/matrix.h"
#include "coding/ring_shape.h"
#include "experiments/study/study_hooks.h"

#include <cstdint>
#include <optional>

namespace cerar {

/// A shift protocol (docs/theory.md, eqs. 1-4) of any number of rounds, and what it leaves out in exact arithmetic.
struct ShortProtocol {
  Matrices<double> encoders;  ///< U_0 .. U_{N-1}, each L x c
  double error = 0;           ///< sqrt(Phi / (N N c)), relative to the sum of independent gradients, own-exact, all L
                              ///< received vectors kept
  double kappa = 0;           ///< largest kappa_2(M_i)
};

/// Looks for the U with the least Phi by alternating least squares: with U fixed every R_i is a least-squares problem
/// (eq. 10), with R fixed every U_w is one. Both have a small ridge, without which U runs off to where its vectors are
/// parallel and the infimum lies.
/// @param rounds  L >= 1; not tied to c + N - 2
/// @param starts  random starts; the best result is kept. The result depends on the seed and not on the threads.
/// @return nothing if it was stopped
[[nodiscard]] std::optional<ShortProtocol> optimise_short_protocol(const RingShape& shape, std::int64_t rounds,
                                                                   int starts, std::uint64_t seed,
                                                                   const StudyHooks& hooks);

}  // namespace cerar
