#include "optimize/descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlopt.hpp>
#include <random>
#include <span>

namespace cerar {
namespace {

/// How far above its bound a condition number may end.
constexpr double kFeasible = 1e-3;

/// One bounded condition number.
struct Limit {
  Conditioned which;
  double log_bound;
  double allowance = 0;  ///< of the smooth condition number above the true one, where it was last measured
};

/// One run of the solver, in the coordinates y of x = base + scale P y.
class Stage {
 public:
  Stage(const Objective<double>& objective, const Ansatz& ansatz, const DescentOptions& options, Descent& result)
      : objective_(objective), ansatz_(ansatz), options_(options), result_(result), base_(result.x) {
    const auto here = objective.evaluate(ansatz.encoders(base_), false, true);
    preconditioner_ = ansatz.preconditioner(base_, here.curvature);
    scale_ = std::sqrt(result.error);  // the logarithm's Hessian is then about the identity
    if (options.stacked_kappa > 0) {
      limits_.push_back({Conditioned::stacked, std::log(options.stacked_kappa)});
    }
    if (options.window_kappa > 0) {
      limits_.push_back({Conditioned::windows, std::log(options.window_kappa)});
    }
    for (Limit& limit : limits_) {
      const SmoothCondition condition = smooth_condition(objective, limit.which, ansatz.encoders(base_), false);
      limit.allowance = condition.smooth - condition.log_kappa;
    }
  }

  /// Starts a little off.
  void kick(std::mt19937_64& engine) {
    Eigen::VectorXd direction(base_.size());
    for (double& value : direction) {
      value = static_cast<double>(engine() >> 11U) * 0x1p-52 - 1;
    }
    base_ += 0.3 * scale_ * preconditioner_.step(direction);
  }

  void run() {
    const auto size = static_cast<unsigned>(base_.size());
    nlopt::opt local(nlopt::LD_LBFGS, size);
    local.set_ftol_abs(options_.tolerance);
    nlopt::opt solver = local;
    if (limits_.empty()) {
      local.set_maxeval(std::max(1, options_.most_evaluations - result_.evaluations));
      solver = local;
    } else {
      local.set_maxeval(300);
      solver = nlopt::opt(nlopt::AUGLAG, size);
      solver.set_local_optimizer(local);
      solver.set_ftol_abs(options_.tolerance);
      solver.set_maxeval(std::max(1, options_.most_evaluations - result_.evaluations));
    }
    solver.set_min_objective(&Stage::objective, this);
    std::vector<Constraint> constraints;
    for (const Limit& limit : limits_) {
      constraints.push_back({this, limit});
    }
    for (Constraint& constraint : constraints) {
      solver.add_inequality_constraint(&Stage::constraint, &constraint, 1e-5);
    }
    std::vector<double> y(base_.size() > 0 ? size : 0, 0.0);
    try {
      double value = 0;
      solver.optimize(y, value);
    } catch (const nlopt::forced_stop&) {
      // Asked to stop; what is best so far has been kept.
    } catch (const nlopt::roundoff_limited&) {
      // No step improves any more within the precision of the objective.
    } catch (const std::runtime_error&) {
      // NLopt's word for a line search that finds nothing better, for the same reason.
    }
  }

 private:
  struct Constraint {
    Stage* stage;
    Limit limit;
  };

  [[nodiscard]] Eigen::VectorXd place(const std::vector<double>& y) const {
    return base_ + scale_ * preconditioner_.step(Eigen::Map<const Eigen::VectorXd>(y.data(), base_.size()));
  }

  void store(const Eigen::VectorXd& by_x, double factor, std::vector<double>& gradient) const {
    const Eigen::VectorXd by_y = factor * scale_ * preconditioner_.pull_back(by_x);
    std::copy(by_y.data(), by_y.data() + by_y.size(), gradient.begin());
  }

  static double objective(const std::vector<double>& y, std::vector<double>& gradient, void* data) {
    return static_cast<Stage*>(data)->log_error(y, gradient);
  }

  static double constraint(const std::vector<double>& y, std::vector<double>& gradient, void* data) {
    const auto& constraint = *static_cast<Constraint*>(data);
    return constraint.stage->excess(constraint.limit, y, gradient);
  }

  double log_error(const std::vector<double>& y, std::vector<double>& gradient) {
    if (options_.stop && options_.stop()) {
      throw nlopt::forced_stop();
    }
    ++result_.evaluations;
    const Eigen::VectorXd x = place(y);
    const Matrices<double> encoders = ansatz_.encoders(x);
    const auto here = objective_.evaluate(encoders, !gradient.empty(), false);
    if (!gradient.empty()) {
      store(ansatz_.pull_back(x, here.gradient), 1 / here.error, gradient);
    }
    if (here.error < result_.error && within_bounds(encoders)) {
      result_.error = here.error;
      result_.x = x;
      result_.history.push_back(here.error);
    }
    return std::log(here.error);
  }

  double excess(const Limit& limit, const std::vector<double>& y, std::vector<double>& gradient) {
    const Eigen::VectorXd x = place(y);
    const SmoothCondition condition = smooth_condition(objective_, limit.which, ansatz_.encoders(x), !gradient.empty());
    if (!gradient.empty()) {
      store(ansatz_.pull_back(x, condition.gradient), 1, gradient);
    }
    return condition.smooth - limit.allowance - limit.log_bound;
  }

  [[nodiscard]] bool within_bounds(const Matrices<double>& encoders) const {
    return std::all_of(limits_.begin(), limits_.end(), [&](const Limit& limit) {
      return smooth_condition(objective_, limit.which, encoders, false).log_kappa <=
             limit.log_bound + std::log1p(kFeasible);
    });
  }

  const Objective<double>& objective_;
  const Ansatz& ansatz_;
  const DescentOptions& options_;
  Descent& result_;
  Eigen::VectorXd base_;
  double scale_ = 1;
  Preconditioner preconditioner_;
  std::vector<Limit> limits_;
};

}  // namespace

Descent descend(const Objective<double>& objective, const Ansatz& ansatz, const Eigen::VectorXd& from,
                const DescentOptions& options) {
  constexpr int kMostStages = 20;
  Descent result;
  result.x = from;
  result.error = objective.evaluate(ansatz.encoders(from), false, false).error;
  result.history = {result.error};
  std::mt19937_64 engine(1);
  int kicks = 0;
  for (int stage = 0; stage < kMostStages && result.error > 0 && std::isfinite(result.error) &&
                      result.evaluations < options.most_evaluations && !(options.stop && options.stop());
       ++stage) {
    const double before = result.error;
    Stage next(objective, ansatz, options, result);
    if (kicks > 0) {
      next.kick(engine);
    }
    next.run();
    const bool gained = result.error < before * (1 - 100 * options.tolerance);
    kicks = gained || stage == 0 ? 0 : kicks + 1;
    if (kicks > options.kicks) {
      break;
    }
  }
  return result;
}

}  // namespace cerar
