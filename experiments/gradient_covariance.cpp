#include "experiments/gradient_covariance.h"

#include "coding/error.h"

#include <fmt/core.h>

#include <stdexcept>

namespace cerar {

void GradientCovariance::add(std::span<const float> gradients) {
  const auto size = static_cast<Eigen::Index>(gradients.size());
  const Eigen::Index workers = sum_.rows();
  if (size % workers != 0) {
    throw std::invalid_argument(fmt::format("{} values do not make the gradients of {} workers", size, workers));
  }
  const Eigen::MatrixXd by_worker =
      Eigen::Map<const Eigen::MatrixXf>(gradients.data(), size / workers, workers).cast<double>();
  // Each product once, so that the matrix is symmetric to the last bit.
  for (Eigen::Index one = 0; one < workers; ++one) {
    for (Eigen::Index other = 0; other <= one; ++other) {
      sum_(one, other) += by_worker.col(one).dot(by_worker.col(other));
      sum_(other, one) = sum_(one, other);
    }
  }
}

Eigen::MatrixXd GradientCovariance::scaled() const {
  if (!(sum_.trace() > 0)) {
    throw Error("the covariance of the gradients can't be told: none was measured, or all were zero");
  }
  return sum_ * (static_cast<double>(sum_.rows()) / sum_.trace());
}

}  // namespace cerar
