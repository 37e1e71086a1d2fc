#pragma once

#include <Eigen/Core>

#include <array>
#include <cstdint>
#include <span>

namespace cerar {

/// A network with one hidden layer: ReLU(X W1 + b1) W2 + b2, softmax over the classes.
struct MlpShape {
  std::int64_t inputs = 784;
  std::int64_t hidden = 256;
  std::int64_t classes = 10;

  /// Lengths of W1, b1, W2 and b2, in the order in which they lie in the parameter and the gradient vector.
  [[nodiscard]] std::array<std::int64_t, 4> tensor_lengths() const noexcept {
    return {inputs * hidden, hidden, hidden * classes, classes};
  }

  /// 203,530 for 784-256-10.
  [[nodiscard]] std::int64_t parameters() const noexcept {
    return inputs * hidden + hidden + hidden * classes + classes;
  }
};

/// Weights uniform in +-sqrt(6 / fan-in), which has He's variance of 2 / fan-in, biases zero. Uniform, because it needs
/// no function that differs between machines: the same seed gives the same bits everywhere.
/// @param parameters  shape.parameters() values, overwritten
void initialise(const MlpShape& shape, std::uint64_t seed, std::span<float> parameters);

/// The network with room for one batch. Parameters and gradients are plain vectors laid out as MlpShape::tensor_lengths
/// says; W1 is inputs x hidden and W2 hidden x classes, both row-major. Scalar: float for training, double for tests.
template <class Scalar>
class Mlp {
 public:
  using Batch = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  explicit Mlp(const MlpShape& shape) : shape_(shape) {}

  [[nodiscard]] const MlpShape& shape() const noexcept { return shape_; }

  /// Softmax cross-entropy, the mean over the batch, and its gradient by hand-written back-propagation.
  /// @param parameters  shape().parameters() values
  /// @param images      batch x inputs
  /// @param classes     batch numbers below shape().classes
  /// @param gradient    shape().parameters() values, overwritten
  /// @return the loss in nats
  /// @throws std::invalid_argument if a length does not fit
  double loss_and_gradient(std::span<const Scalar> parameters, const Batch& images,
                           std::span<const std::uint8_t> classes, std::span<Scalar> gradient);

  /// @return how many images have their class as the highest output
  std::int64_t count_correct(std::span<const Scalar> parameters, const Batch& images,
                             std::span<const std::uint8_t> classes);

 private:
  /// Fills hidden_ and outputs_.
  void forward(std::span<const Scalar> parameters, const Batch& images);
  void check(std::span<const Scalar> parameters, const Batch& images, std::span<const std::uint8_t> classes) const;

  MlpShape shape_;
  Batch hidden_;   // batch x hidden, after the ReLU; then the loss's derivative by the hidden layer's input
  Batch outputs_;  // batch x classes; then the loss's derivative by them
};

}  // namespace cerar
