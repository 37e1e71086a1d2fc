#pragma once

#include <cstdint>
#include <span>

namespace cerar {

/// How far a reduced gradient is from the true sum.
struct GradientError {
  double total = 0;         ///< ||ghat - g|| / ||g|| over the whole vector
  double worst_tensor = 0;  ///< the same for each tensor by itself, the largest of them
};

/// Compares with the sum of the workers' gradients in double precision, in rank order.
///
/// A tensor whose true sum is zero has no relative error of its own; what was received for it counts relative to the
/// norm of the whole true gradient. If that is zero too, the error is 0 for an exact result and infinity for any other.
///
/// @param reduced  d values, as the all-reduce returned them
/// @param gradients  N d values, all[r d .. (r + 1) d) what worker r put in
/// @param tensor_lengths  lengths that sum to d
/// @throws std::invalid_argument if the lengths do not fit
[[nodiscard]] GradientError gradient_error(std::span<const float> reduced, std::span<const float> gradients,
                                           std::span<const std::int64_t> tensor_lengths);

/// max over r of ||w_r - w_0|| / ||w_0||, in double precision: how far the replicas have drifted apart. 0 for equal
/// replicas, also if all are zero.
/// @param parameters  N d values, replica after replica
/// @throws std::invalid_argument unless `replicas` >= 1 divides their number
[[nodiscard]] double replica_divergence(std::span<const float> parameters, std::int64_t replicas);

}  // namespace cerar
