#include "coding/simulation.h"

#include "coding/random.h"
#include "coding/wire_reference.h"

#include <Eigen/Cholesky>

#include <cmath>
#include <numeric>

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
Matrices<Scalar> random_gradients(const RingShape& shape, std::int64_t values, const NoiseModel& noise,
                                  std::uint64_t seed) {
  if (noise.covariance.size() == 0) {
    return random_gradients<Scalar>(shape, values, noise.correlation, seed);
  }
  const Matrices<double> independent = random_gradients<double>(shape, values, 0, seed);
  const Eigen::MatrixXd root = noise.covariance.llt().matrixL();
  Matrices<Scalar> gradients;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    Eigen::MatrixXd mixed = Eigen::MatrixXd::Zero(values, shape.chunks);
    for (std::int64_t source = 0; source <= worker; ++source) {
      mixed += root(worker, source) * independent[static_cast<std::size_t>(source)];
    }
    gradients.push_back(mixed.template cast<Scalar>());
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
template Matrices<float> random_gradients<float>(const RingShape&, std::int64_t, const NoiseModel&, std::uint64_t);
template Matrices<double> random_gradients<double>(const RingShape&, std::int64_t, const NoiseModel&, std::uint64_t);
template SimulatedError measured_error<float>(const Matrices<float>&, const Matrices<float>&);
template SimulatedError measured_error<double>(const Matrices<double>&, const Matrices<double>&);

SimulatedError simulate(const Code& code, std::int64_t values, std::uint64_t seed) {
  validate(code);
  const Matrices<float> gradients = random_gradients<float>(code.shape, values, code.noise, seed);
  Matrices<double> exact;
  for (const Matrix<float>& gradient : gradients) {
    exact.push_back(gradient.cast<double>());
  }
  return measured_error(exact, wire_all_reduce(code, gradients));
}

double simulate_mean(const Code& code, std::int64_t length, std::uint64_t seed, int runs) {
  const std::int64_t values = (length + code.shape.chunks - 1) / code.shape.chunks;
  double sum = 0;
  for (int run = 0; run < runs; ++run) {
    const std::vector<double> workers = simulate(code, values, seed + static_cast<std::uint64_t>(run)).workers;
    sum += std::accumulate(workers.begin(), workers.end(), 0.0) / static_cast<double>(workers.size());
  }
  return sum / runs;
}

}  // namespace cerar
