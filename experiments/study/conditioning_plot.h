#pragma once

#include "experiments/study/conditioning.h"

#include <filesystem>

namespace cerar {

/// Singular values of every A_l against eps, log-log, for the first seed: points, the theory's asymptotes (level
/// constant times eps^k) and the band of the two-sided bounds behind them.
void plot_singular_values(const ConditioningStudy& study, const std::filesystem::path& png);

/// The largest kappa_2(A_l) and kappa_2(M_i) against eps for the first seed, as double, long double and multiprecision
/// see it.
void plot_kappa(const ConditioningStudy& study, const std::filesystem::path& png);

}  // namespace cerar
