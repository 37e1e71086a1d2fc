#include "optimize/condition_bound.h"

#include <Eigen/SVD>

#include <cmath>
#include <limits>

namespace cerar {

SmoothCondition smooth_condition(const Objective<double>& objective, Conditioned which,
                                 const Matrices<double>& encoders, bool with_gradient) {
  constexpr double p = 16;
  const ErrorModel& model = objective.model();
  SmoothCondition worst;
  worst.smooth = -std::numeric_limits<double>::infinity();
  for (std::int64_t worker = 0; worker < model.judged_workers(); ++worker) {
    const Eigen::MatrixXd matrix =
        which == Conditioned::stacked
            ? objective.received(encoders, worker)
            : Eigen::MatrixXd(encoders[static_cast<std::size_t>(worker)].topRows(model.shape.rounds()));
    const Eigen::BDCSVD<Eigen::MatrixXd> svd(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
    const Eigen::VectorXd& sigma = svd.singularValues();
    const double largest = sigma(0);
    const double smallest = sigma(sigma.size() - 1);
    if (!(smallest > 0)) {
      worst = {};
      worst.smooth = worst.log_kappa = std::numeric_limits<double>::infinity();
      return worst;
    }
    const Eigen::VectorXd high = (sigma / largest).array().pow(p);
    const Eigen::VectorXd low = (smallest / sigma.array()).pow(p);
    const double log_kappa = std::log(largest / smallest);
    const double smooth = log_kappa + (std::log(high.sum()) + std::log(low.sum())) / p;
    worst.log_kappa = std::max(worst.log_kappa, log_kappa);
    if (!(smooth > worst.smooth)) {
      continue;
    }
    worst.smooth = smooth;
    if (with_gradient) {
      const Eigen::VectorXd weight = (high / high.sum() - low / low.sum()).cwiseQuotient(sigma);
      const Eigen::MatrixXd by_matrix = svd.matrixU() * weight.asDiagonal() * svd.matrixV().transpose();
      worst.gradient.assign(encoders.size(), Eigen::MatrixXd::Zero(model.rows(), model.shape.chunks));
      if (which == Conditioned::stacked) {
        objective.scatter(by_matrix, worker, worst.gradient);
      } else {
        worst.gradient[static_cast<std::size_t>(worker)].topRows(model.shape.rounds()) = by_matrix;
      }
    }
  }
  return worst;
}

}  // namespace cerar
