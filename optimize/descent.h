#pragma once

#include "optimize/ansatz.h"
#include "optimize/condition_bound.h"
#include "optimize/objective.h"

#include <functional>
#include <vector>

namespace cerar {

struct DescentOptions {
  double stacked_kappa = 0;  ///< bound of max_i kappa_2(M_i); 0: none
  double window_kappa = 0;   ///< bound of max_i kappa_2(U_i); 0: none
  int most_evaluations = 2000;
  double tolerance = 1e-7;  ///< of the logarithm of the squared error, where the solver stops
  int kicks = 0;            ///< how often it goes on from a random point nearby where it would end: saddles are many
  std::function<bool()> stop = {};  ///< asked before every evaluation; the best so far is kept
};

struct Descent {
  Eigen::VectorXd x;
  double error = 0;  ///< the objective there
  int evaluations = 0;
  std::vector<double> history;  ///< the objective after each evaluation that improved it
};

/// Minimises the logarithm of the objective over an ansatz by L-BFGS (NLopt), started anew from where it ended, with
/// the preconditioner made there, until that gains less than 100 times the tolerance. With bounds it is NLopt's
/// augmented Lagrangian on the smooth condition numbers; each time anew their distance from the true ones is measured
/// and allowed for, so that the bounds are met to 1e-3 and not missed by more. Deterministic.
/// @param from  must be within the bounds
[[nodiscard]] Descent descend(const Objective<double>& objective, const Ansatz& ansatz, const Eigen::VectorXd& from,
                              const DescentOptions& options);

}  // namespace cerar
