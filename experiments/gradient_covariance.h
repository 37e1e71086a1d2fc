#pragma once

#include <Eigen/Core>

#include <cstdint>
#include <span>

namespace cerar {

/// Products of the workers' gradients at the same place, averaged over the places and over what was added: the
/// covariance C that codes are fitted for (docs/theory.md, eq. 8), as a training really has it.
class GradientCovariance {
 public:
  explicit GradientCovariance(std::int64_t workers) : sum_(Eigen::MatrixXd::Zero(workers, workers)) {}

  /// @param gradients  N d values, all[r d .. (r + 1) d) worker r's
  /// @throws std::invalid_argument unless N divides their number
  void add(std::span<const float> gradients);

  /// N x N, scaled to a mean diagonal of 1. Singular where some combination of the gradients was always zero.
  /// @throws Error if nothing, or nothing but zeros, was added
  [[nodiscard]] Eigen::MatrixXd scaled() const;

 private:
  Eigen::MatrixXd sum_;
};

}  // namespace cerar
