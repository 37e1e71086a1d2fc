#include "experiments/study/linear_protocol.h"

#include "coding/random.h"
#include "coding/ring_shape.h"

#include <Eigen/SVD>
#include <fmt/core.h>

#include <cmath>
#include <stdexcept>

namespace cerar {
namespace {

Eigen::MatrixXd normal_matrix(std::int64_t rows, std::int64_t columns, NormalGenerator& normal) {
  const double scale = columns > 0 ? 1 / std::sqrt(static_cast<double>(columns)) : 0;
  return Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return scale * normal(); });
}

std::vector<Eigen::VectorXd> others_hold(const LinearProtocol& protocol, const Eigen::VectorXd& gradient) {
  std::vector<Eigen::VectorXd> gradients(static_cast<std::size_t>(protocol.workers), gradient);
  gradients.front().setZero();
  return gradients;
}

}  // namespace

LinearProtocol random_protocol(std::int64_t workers, std::int64_t rounds, std::int64_t values, std::int64_t dimension,
                               std::uint64_t seed) {
  NormalGenerator normal(seed);
  LinearProtocol protocol{workers, rounds, values, dimension, {}, {}};
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    auto& encode = protocol.encode.emplace_back();
    auto& forward = protocol.forward.emplace_back();
    for (std::int64_t t = 1; t <= rounds; ++t) {
      encode.push_back(normal_matrix(values, dimension, normal));
      forward.push_back(normal_matrix(values, (t - 1) * values, normal));
    }
  }
  return protocol;
}

std::vector<Eigen::VectorXd> run_protocol(const LinearProtocol& protocol,
                                          const std::vector<Eigen::VectorXd>& gradients) {
  const std::int64_t n = protocol.workers;
  std::vector<Eigen::VectorXd> received(static_cast<std::size_t>(n),
                                        Eigen::VectorXd::Zero(protocol.rounds * protocol.values));
  for (std::int64_t t = 1; t <= protocol.rounds; ++t) {
    const std::int64_t before = (t - 1) * protocol.values;
    std::vector<Eigen::VectorXd> sent;
    for (std::size_t j = 0; j < received.size(); ++j) {
      const auto round = static_cast<std::size_t>(t - 1);
      sent.emplace_back(protocol.encode[j][round] * gradients[j] +
                        protocol.forward[j][round] * received[j].head(before));
    }
    for (std::int64_t j = 0; j < n; ++j) {
      received[static_cast<std::size_t>(wrap(j + 1, n))].segment(before, protocol.values) =
          sent[static_cast<std::size_t>(j)];
    }
  }
  return received;
}

Confusion confuse(const LinearProtocol& protocol, std::uint64_t seed) {
  const std::int64_t d = protocol.dimension;
  if (protocol.rounds * protocol.values >= d) {
    throw std::invalid_argument(
        fmt::format("a worker receives {} values of a gradient of {}: only with fewer is there always a null vector",
                    protocol.rounds * protocol.values, d));
  }
  // Gamma~: from the gradient that all others hold to what worker 0 receives, column by column.
  Eigen::MatrixXd map(protocol.rounds * protocol.values, d);
  for (std::int64_t column = 0; column < d; ++column) {
    map.col(column) = run_protocol(protocol, others_hold(protocol, Eigen::VectorXd::Unit(d, column))).front();
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd, Eigen::FullPivHouseholderQRPreconditioner> svd(map, Eigen::ComputeFullV);
  const Eigen::VectorXd null_vector = svd.matrixV().col(d - 1);

  NormalGenerator normal(seed);
  const Eigen::VectorXd gradient = Eigen::VectorXd::NullaryExpr(d, [&] { return normal(); });
  Confusion confusion;
  confusion.one = others_hold(protocol, gradient);
  confusion.other = others_hold(protocol, gradient + gradient.norm() * null_vector);
  const Eigen::VectorXd first = run_protocol(protocol, confusion.one).front();
  const Eigen::VectorXd second = run_protocol(protocol, confusion.other).front();
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(d);
  Eigen::VectorXd other_sum = Eigen::VectorXd::Zero(d);
  for (std::size_t j = 0; j < confusion.one.size(); ++j) {
    sum += confusion.one[j];
    other_sum += confusion.other[j];
  }
  confusion.received_difference = (first - second).norm() / first.norm();
  confusion.sum_distance = (sum - other_sum).norm() / sum.norm();
  return confusion;
}

}  // namespace cerar
