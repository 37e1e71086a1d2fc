#pragma once

#include "experiments/study/window_source.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cerar {

/// What the limits K^(l) of one construction say before any eps is chosen.
struct ConditioningLimit {
  std::vector<std::int64_t> powers;            ///< of eps, one a singular value of A_l
  std::vector<std::int64_t> stacked_powers;    ///< the same for M_i
  double direction_norm = 0;                   ///< || H ||
  double difference_norm = 0;                  ///< || Delta ||
  double inverse_norm = 0;                     ///< || Delta^-1 ||
  std::vector<double> gamma;                   ///< sigma_min(K^(l)), l = 0 .. N - 1
  std::vector<double> norm;                    ///< || K^(l) ||
  std::vector<std::vector<double>> constants;  ///< level constants of A_l (docs/theory.md, eq. 22)

  /// C of kappa_2(A_l) <= C eps^-r*, for every l (docs/theory.md, eq. 21).
  [[nodiscard]] double condition_constant() const;
  /// l with the smallest gamma.
  [[nodiscard]] std::int64_t worst_window() const;
};

/// @throws Error if some K^(l) is singular, naming l and gamma: the theorem says nothing then
[[nodiscard]] ConditioningLimit conditioning_limit(const WindowSource& source, std::uint64_t seed);

/// Decimal digits that leave 16 beyond what kappa_2(A_l(eps)) <= C eps^-r* can cost.
[[nodiscard]] int needed_digits(const ConditioningLimit& limit, double eps);

/// One window and one worker at one eps.
struct ConditioningPoint {
  std::vector<double> values;    ///< singular values of A_l, largest first
  std::vector<double> stacked;   ///< of M_l, l as a worker
  double core_norm = 0;          ///< || K_l(eps) ||
  double core_gamma = 0;         ///< sigma_min(K_l(eps))
  double core_change = 0;        ///< || K_l(eps) - K^(l) ||_F
  double residual = 0;           ///< || A - Delta^-1 Lambda K || / || A ||, largest entries
  double kappa_double = 0;       ///< kappa_2(A_l) as LAPACK finds it in double; may be infinite
  double kappa_long_double = 0;  ///< the same by Jacobi rotations in long double

  [[nodiscard]] double kappa() const { return values.front() / values.back(); }
  [[nodiscard]] double stacked_kappa() const { return stacked.front() / stacked.back(); }
};

/// Relative agreement demanded of every figure with the same figure at double the precision.
inline constexpr double kAgreement = 1e-12;

/// @param l       in [0, N)
/// @param digits  decimal digits; everything is computed a second time with twice as many
/// @throws Error if a figure changes by more than kAgreement then
[[nodiscard]] ConditioningPoint conditioning_point(const WindowSource& source, std::uint64_t seed, double eps,
                                                   std::int64_t l, int digits);

[[nodiscard]] nlohmann::ordered_json to_json(const ConditioningPoint& point);
[[nodiscard]] ConditioningPoint conditioning_point_from(const nlohmann::ordered_json& json);

}  // namespace cerar
