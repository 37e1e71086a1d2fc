#include "coding/simulation.h"

#include "coding/random.h"
#include "coding/reference.h"

#include <cmath>

namespace cerar {

template <class Scalar>
Matrices<Scalar> random_gradients(const RingShape& shape, std::int64_t values, double correlation, std::uint64_t seed) {
  validate(shape);
  NormalGenerator normal(seed);
  const auto draw = [&] { return Eigen::MatrixXd::NullaryExpr(values, shape.chunks, [&] { return normal(); }).eval(); };
  const Eigen::MatrixXd common = correlation > 0 ? draw() : Eigen::MatrixXd::Zero(values, shape.chunks);
  Matrices<Scalar> gradients;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    gradients.push_back(
        (std::sqrt(1 - correlation) * draw() + std::sqrt(correlation) * common).template cast<Scalar>());
  }
  return gradients;
}

template <class Scalar>
SimulatedError measured_error(const Matrices<Scalar>& gradients, const Matrices<Scalar>& results) {
  Eigen::MatrixXd truth = Eigen::MatrixXd::Zero(gradients.front().rows(), gradients.front().cols());
  for (const Matrix<Scalar>& gradient : gradients) {
    truth += gradient.template cast<double>();
  }
  SimulatedError error;
  double squares = 0;
  for (const Matrix<Scalar>& result : results) {
    const double scale = truth.norm();
    const double distance = (result.template cast<double>() - truth).norm();
    error.workers.push_back(distance == 0 ? 0 : distance / scale);
    squares += error.workers.back() * error.workers.back();
  }
  error.relative = std::sqrt(squares / static_cast<double>(results.size()));
  return error;
}

template Matrices<float> random_gradients<float>(const RingShape&, std::int64_t, double, std::uint64_t);
template Matrices<double> random_gradients<double>(const RingShape&, std::int64_t, double, std::uint64_t);
template SimulatedError measured_error<float>(const Matrices<float>&, const Matrices<float>&);
template SimulatedError measured_error<double>(const Matrices<double>&, const Matrices<double>&);

SimulatedError simulate_float32(const Code& code, std::int64_t values, std::uint64_t seed) {
  const Matrices<float> gradients = random_gradients<float>(code.shape, values, code.noise.correlation, seed);
  return measured_error(gradients, reference_all_reduce<float>(code, gradients));
}

}  // namespace cerar
