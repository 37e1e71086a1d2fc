#include "experiments/mlp.h"

#include "experiments/blas.h"
#include "experiments/random.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

namespace cerar {
namespace {

/// The four tensors inside one parameter or gradient vector; Scalar may be const.
template <class Scalar>
struct Tensors {
  using Row = Eigen::Matrix<std::remove_const_t<Scalar>, 1, Eigen::Dynamic>;
  using RowMap = Eigen::Map<std::conditional_t<std::is_const_v<Scalar>, const Row, Row>>;

  Tensors(const MlpShape& shape, Scalar* values)
      : w1(values),
        b1(values + shape.inputs * shape.hidden, shape.hidden),
        w2(b1.data() + shape.hidden),
        b2(w2 + shape.hidden * shape.classes, shape.classes) {}

  Scalar* w1;
  RowMap b1;
  Scalar* w2;
  RowMap b2;
};

}  // namespace

void initialise(const MlpShape& shape, std::uint64_t seed, std::span<float> parameters) {
  if (static_cast<std::int64_t>(parameters.size()) != shape.parameters()) {
    throw std::invalid_argument(
        fmt::format("initialise: {} parameters given, the network has {}", parameters.size(), shape.parameters()));
  }
  PortableRandom random(seed);
  auto next = parameters.begin();
  const auto fill = [&](std::int64_t weights, std::int64_t fan_in, std::int64_t biases) {
    const double bound = std::sqrt(6.0 / static_cast<double>(fan_in));
    next = std::generate_n(next, weights, [&] { return static_cast<float>(bound * (2 * random.uniform() - 1)); });
    next = std::fill_n(next, biases, 0.0F);
  };
  fill(shape.inputs * shape.hidden, shape.inputs, shape.hidden);
  fill(shape.hidden * shape.classes, shape.hidden, shape.classes);
}

template <class Scalar>
void Mlp<Scalar>::check(std::span<const Scalar> parameters, const Batch& images,
                        std::span<const std::uint8_t> classes) const {
  if (static_cast<std::int64_t>(parameters.size()) != shape_.parameters()) {
    throw std::invalid_argument(
        fmt::format("Mlp: {} parameters given, the network has {}", parameters.size(), shape_.parameters()));
  }
  if (images.cols() != shape_.inputs || images.rows() < 1) {
    throw std::invalid_argument(fmt::format("Mlp: a batch of {} x {} given, expected at least 1 x {}", images.rows(),
                                            images.cols(), shape_.inputs));
  }
  if (static_cast<Eigen::Index>(classes.size()) != images.rows()) {
    throw std::invalid_argument(fmt::format("Mlp: {} classes given for {} images", classes.size(), images.rows()));
  }
  for (const std::uint8_t label : classes) {
    if (label >= shape_.classes) {
      throw std::invalid_argument(fmt::format("Mlp: class {} given, the network has {}", label, shape_.classes));
    }
  }
}

template <class Scalar>
void Mlp<Scalar>::forward(std::span<const Scalar> parameters, const Batch& images) {
  const Tensors<const Scalar> at(shape_, parameters.data());
  hidden_.resize(images.rows(), shape_.hidden);
  multiply(Transpose::no, Transpose::no, images.rows(), shape_.hidden, shape_.inputs, images.data(), at.w1, Scalar(0),
           hidden_.data());
  hidden_ = (hidden_.rowwise() + at.b1).cwiseMax(Scalar(0));
  outputs_.resize(images.rows(), shape_.classes);
  multiply(Transpose::no, Transpose::no, images.rows(), shape_.classes, shape_.hidden, hidden_.data(), at.w2, Scalar(0),
           outputs_.data());
  outputs_.rowwise() += at.b2;
}

template <class Scalar>
double Mlp<Scalar>::loss_and_gradient(std::span<const Scalar> parameters, const Batch& images,
                                      std::span<const std::uint8_t> classes, std::span<Scalar> gradient) {
  check(parameters, images, classes);
  if (gradient.size() != parameters.size()) {
    throw std::invalid_argument(
        fmt::format("Mlp: room for {} gradient values given, the network has {}", gradient.size(), parameters.size()));
  }
  forward(parameters, images);

  // Softmax p = exp(o - max o) / sum; loss -log p[class]; derivative (p - onehot) / batch, in place of the outputs.
  const auto batch = static_cast<Scalar>(images.rows());
  double loss = 0;
  for (Eigen::Index row = 0; row < outputs_.rows(); ++row) {
    auto output = outputs_.row(row);
    const Eigen::Index label = classes[static_cast<std::size_t>(row)];
    output.array() -= output.maxCoeff();
    const Scalar of_label = output(label);
    output = output.array().exp().matrix();
    const Scalar sum = output.sum();
    loss += static_cast<double>(std::log(sum) - of_label);
    output /= sum * batch;
    output(label) -= Scalar(1) / batch;
  }

  const Tensors<const Scalar> at(shape_, parameters.data());
  Tensors<Scalar> to(shape_, gradient.data());
  // dW2 = H^T dO, db2 = column sums of dO.
  multiply(Transpose::yes, Transpose::no, shape_.hidden, shape_.classes, images.rows(), hidden_.data(), outputs_.data(),
           Scalar(0), to.w2);
  to.b2 = outputs_.colwise().sum();
  // dH = dO W2^T where the unit is on, 0 where the ReLU has cut it off.
  const Batch is_on = (hidden_.array() > Scalar(0)).template cast<Scalar>().matrix();
  multiply(Transpose::no, Transpose::yes, images.rows(), shape_.hidden, shape_.classes, outputs_.data(), at.w2,
           Scalar(0), hidden_.data());
  hidden_.array() *= is_on.array();
  // dW1 = X^T dH, db1 = column sums of dH.
  multiply(Transpose::yes, Transpose::no, shape_.inputs, shape_.hidden, images.rows(), images.data(), hidden_.data(),
           Scalar(0), to.w1);
  to.b1 = hidden_.colwise().sum();
  return loss / static_cast<double>(images.rows());
}

template <class Scalar>
std::int64_t Mlp<Scalar>::count_correct(std::span<const Scalar> parameters, const Batch& images,
                                        std::span<const std::uint8_t> classes) {
  check(parameters, images, classes);
  forward(parameters, images);
  std::int64_t correct = 0;
  for (Eigen::Index row = 0; row < outputs_.rows(); ++row) {
    Eigen::Index best = 0;
    outputs_.row(row).maxCoeff(&best);
    correct += best == classes[static_cast<std::size_t>(row)] ? 1 : 0;
  }
  return correct;
}

template class Mlp<float>;
template class Mlp<double>;

}  // namespace cerar
