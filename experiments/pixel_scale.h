#pragma once

#include "experiments/fashion_mnist.h"
#include "experiments/mlp.h"

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace cerar {

/// How images become inputs of the network: byte / 255, less the training set's mean image, over the standard deviation
/// that is left of all its pixels together. Without its mean, a picture's constant border brings no gradient that is
/// the same on every worker and cancels badly in their sum.
class PixelScale {
 public:
  /// From sums of whole numbers, so the same on every machine.
  explicit PixelScale(const LabelledImages& training);

  /// @param numbers  which images of `data`
  /// @param to       becomes numbers x pixels
  void apply(const LabelledImages& data, const std::vector<std::int64_t>& numbers, Mlp<float>::Batch& to) const;

 private:
  Eigen::Matrix<float, 1, Eigen::Dynamic> mean_;  // of the bytes, by pixel
  float factor_ = 1;                              // 1 / deviation of the bytes
};

}  // namespace cerar
