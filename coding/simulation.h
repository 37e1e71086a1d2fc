#pragma once

#include "coding/code.h"
#include "coding/matrix.h"

#include <cstdint>
#include <vector>

namespace cerar {

/// Gradients with independent N(0, 1) entries within a worker and correlation rho between workers at the same place, as
/// NoiseModel has it. The same for a seed on every machine up to the rounding of std::log, std::sin and std::cos.
/// @return G_0 .. G_{N-1}, each values x c
template <class Scalar>
[[nodiscard]] Matrices<Scalar> random_gradients(const RingShape& shape, std::int64_t values, double correlation,
                                                std::uint64_t seed);

/// The same with the covariance between workers that was measured, where there is one.
template <class Scalar>
[[nodiscard]] Matrices<Scalar> random_gradients(const RingShape& shape, std::int64_t values, const NoiseModel& noise,
                                                std::uint64_t seed);

/// How far results are from the sum of the gradients, accumulated in double.
struct SimulatedError {
  std::vector<double> workers;  ///< ||ghat_i - g|| / ||g|| by worker
  double relative = 0;          ///< root mean square of these
};

/// @param results  ghat_0 .. ghat_{N-1}, shaped like the gradients
template <class Scalar>
[[nodiscard]] SimulatedError measured_error(const Matrices<Scalar>& gradients, const Matrices<Scalar>& results);

/// Runs the protocol once in the arithmetic of code.noise.wire (wire_all_reduce), on random float32 gradients of the
/// correlation or covariance that the code was designed for, and measures its error: the judge of every prediction.
/// @param values  p, values a chunk
/// @throws std::invalid_argument if the code does not validate
[[nodiscard]] SimulatedError simulate(const Code& code, std::int64_t values, std::uint64_t seed);

/// Mean of ||ghat_i - g|| / ||g|| over the workers and over `runs` simulations, of seeds seed, seed + 1, ..: what a
/// code file states as simulated_relative_error.
/// @param length  d, values in a worker's gradient, rounded up to a multiple of c
[[nodiscard]] double simulate_mean(const Code& code, std::int64_t length = 240'000, std::uint64_t seed = 1,
                                   int runs = 5);

}  // namespace cerar
