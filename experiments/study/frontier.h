#pragma once

#include "coding/ring_shape.h"
#include "experiments/study/log_log_fit.h"
#include "experiments/study/study_hooks.h"
#include "optimize/objective.h"

#include <Eigen/Core>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cerar {

struct FrontierOptions {
  RingShape shape;            ///< N >= 3, c > N
  std::vector<double> kappa;  ///< bounds of max_i kappa_2(M_i); smallest first
  int seeds = 100;            ///< random (B, H) of which `mpc` takes the best at every bound: seeds 1, 2, ..
  OwnBlock own_block = OwnBlock::included;  ///< what counts as error; `included` is the paper's Phi
};

/// The best code found in a family under one bound.
struct FrontierPoint {
  double kappa_max = 0;     ///< the bound
  double kappa = 0;         ///< max_i kappa_2(M_i) of the code
  double error = 0;         ///< without noise: sqrt(Phi) / (N sqrt(c))
  double eps = 0;           ///< of the closed form; 0 of an optimised code
  Eigen::MatrixXd encoder;  ///< U_0 of an optimised code, from which the next one sets out; empty of a closed form
};

struct FrontierFamily {
  std::string name;                   ///< mpc, mpc-shift, nodes or optimised
  std::vector<FrontierPoint> points;  ///< by bound, smallest first; bounds below smallest_kappa are left out
  double smallest_kappa = 0;          ///< the smallest condition number that the closed form has
  std::optional<LogLogFit> fit =
      {};                  ///< of error against kappa, in the upper half of the bounds, from 10 smallest_kappa on
  double slope_error = 0;  ///< half the 95 % confidence interval of fit->slope (Student)
};

struct FrontierStudy {
  FrontierOptions options;
  std::vector<FrontierFamily> families;
  double theory = 0;      ///< -1 / r*
  bool monotone = false;  ///< in no family does a larger bound give a larger error
  bool feasible = false;  ///< no kappa is more than 1e-3 above its bound
  bool holds =
      false;  ///< monotone, feasible, and in every family theory within 0.06 of the slope, or within its interval
};

/// The Pareto front of the protocol's noise-free error against the condition number of what is decoded, decoded from
/// the last c vectors: multiplicative perturbation with random (B, H) and with B = I and a shift, cyclic codes in
/// closed form ("nodes"), and those descended from there and from the optimised code of the next smaller bound, so that
/// the front cannot rise (docs/theory.md, "Fitting").
/// @return nothing if it was stopped; finished points are kept in `folder`
/// @throws std::invalid_argument for options out of range, or bounds that no family can meet, with the smallest that
/// can be met
[[nodiscard]] std::optional<FrontierStudy> study_frontier(const FrontierOptions& options,
                                                          const std::filesystem::path& folder, const StudyHooks& hooks);

/// Writes frontier.csv, summary.json and frontier.png.
void write_frontier(const FrontierStudy& study, const std::filesystem::path& folder);

[[nodiscard]] std::string frontier_table(const FrontierStudy& study);

}  // namespace cerar
