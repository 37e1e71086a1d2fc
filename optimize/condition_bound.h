#pragma once

#include "coding/matrix.h"
#include "optimize/objective.h"

#include <cstdint>
#include <vector>

namespace cerar {

/// What may be bounded in a fit; a bound that is not given is infinite.
struct Bounds {
  double stacked_kappa = 0;  ///< of max_i kappa_2(M_i), the stacked matrices; 0: none
  double window_kappa = 0;   ///< of max_i kappa_2(U_i); 0: none
  double largest_entry = 0;  ///< of max |R|; 0: none
  double frobenius = 0;      ///< of max_i || R_i ||_F; 0: none

  [[nodiscard]] bool any_kappa() const noexcept { return stacked_kappa > 0 || window_kappa > 0; }
  [[nodiscard]] bool any_decoder() const noexcept { return largest_entry > 0 || frobenius > 0; }
};

/// Which matrices' condition numbers: kappa_2(M_i) or kappa_2(U_i), i running over the judged workers.
enum class Conditioned { stacked, windows };

/// A smooth upper bound of log kappa_2, by which a descent can be kept off ill-conditioned codes: with p = 16,
///     1/p log sum_k (sigma_k / sigma_max)^p + log(sigma_max / sigma_min) + 1/p log sum_k (sigma_min / sigma_k)^p,
/// at most 2 log(n) / p above it however many singular values meet.
struct SmoothCondition {
  double smooth = 0;               ///< the largest over the judged workers
  double log_kappa = 0;            ///< the largest log kappa_2 itself
  Matrices<double> gradient = {};  ///< of `smooth` by U_0 .. U_{N-1}; empty unless asked for
};

/// @param encoders  as Objective::evaluate has them
[[nodiscard]] SmoothCondition smooth_condition(const Objective<double>& objective, Conditioned which,
                                               const Matrices<double>& encoders, bool with_gradient);

}  // namespace cerar
