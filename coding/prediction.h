#pragma once

#include "coding/code.h"
#include "coding/noise.h"

#include <vector>

namespace cerar {

/// What one worker's result is off by, for gradients with independent N(0, 1) entries (correlation `rho` between
/// workers). Everything is a standard deviation per value of a chunk.
struct WorkerError {
  Eigen::VectorXd
      deterministic;      ///< length c: of chunk k of M_i R_i - T, what the code leaves out even in exact arithmetic
  Eigen::VectorXd noise;  ///< length c: of the rounding of the wire and of local arithmetic
  double relative = 0;    ///< both, over all chunks, relative to the true sum (docs/theory.md, eq. 11)
};

struct ErrorPrediction {
  std::vector<WorkerError> workers;
  double relative = 0;  ///< root of the mean over workers of `relative` squared
};

/// The code as a ring of `code.noise.wire` uses it. Floating point: U and R rounded to float32, in which all local
/// arithmetic is done. Integers: as it is, since encoding and decoding are done in double.
/// @throws std::invalid_argument listing the known wires
[[nodiscard]] Code rounded_to_wire(const Code& code);

/// Predicts a code's error under `code.noise` (docs/theory.md, eqs. 8-11), rounding to enter as it does on that wire
/// (noise_entry_of), U and R as rounded_to_wire has them.
[[nodiscard]] ErrorPrediction predict_error(const Code& code);

/// The same for U and R as they are, with `code.noise.eta` of rounding entering where `entry` says.
/// @param workers  the first so many are looked at, where one is like the other; 0: all
[[nodiscard]] ErrorPrediction predict_error(const Code& code, NoiseEntry entry, std::int64_t workers = 0);

/// The linear map that worker `worker`'s result is in exact arithmetic: ghat_i = [G_0 | ... | G_{N-1}] E_i. Own-exact:
/// the own block is the identity, the others those of M_i R_i. What an executor returns differs from it by rounding
/// only (WorkerError::noise); what the map differs from the sum is the code's own error.
/// @return (N c) x c
[[nodiscard]] Eigen::MatrixXd result_map(const Code& code, std::int64_t worker);

/// Phi(U, R) = sum_i || M_i R_i - T ||_F^2 (docs/theory.md, eq. 7).
[[nodiscard]] double phi(const Code& code);

/// The largest kappa_2(M_i) over the workers.
[[nodiscard]] double kappa_max(const Code& code);

}  // namespace cerar
