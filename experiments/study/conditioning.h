#pragma once

#include "experiments/study/conditioning_point.h"
#include "experiments/study/log_log_fit.h"
#include "experiments/study/study_hooks.h"
#include "experiments/study/window_source.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

struct ConditioningOptions {
  WindowSource source;
  std::uint64_t first_seed = 1;
  int seeds = 1;              ///< first_seed, first_seed + 1, ..; 1 unless the source is seeded
  std::vector<double> eps;    ///< positive, below 1 / || H ||, largest first, at least 3
  std::optional<int> digits;  ///< nothing: what the smallest eps needs (needed_digits)
};

enum class Verdict {
  holds,         ///< every slope, count, bound and identity is as the theorem says
  unsettled,     ///< some are not, but gamma is so small that the smallest eps is not yet small
  contradicted,  ///< some are not, and gamma is no excuse
};

[[nodiscard]] std::string_view name(Verdict verdict) noexcept;

/// Power laws in eps, fitted to the smaller half (in the logarithm) of its values.
struct SeedConditioning {
  std::uint64_t seed = 0;
  int digits = 0;  ///< decimal digits, confirmed at twice as many
  ConditioningLimit limit;
  std::vector<double> eps;                             ///< largest first
  std::vector<std::vector<ConditioningPoint>> points;  ///< [eps][l]

  std::vector<std::vector<LogLogFit>> window_fits;   ///< [l][k], of the k-th singular value of A_l
  std::vector<std::vector<LogLogFit>> stacked_fits;  ///< [i][k], of M_i
  LogLogFit kappa;                                   ///< of max_l kappa_2(A_l)
  LogLogFit stacked_kappa;                           ///< of max_i kappa_2(M_i)
  std::optional<LogLogFit> core_change;              ///< of max_l || K_l(eps) - K^(l) ||; nothing if it is zero
  std::vector<std::int64_t> counts;                  ///< singular values with slope j, in the window that fits worst
  std::vector<std::int64_t> expected_counts;         ///< N for each j < beta, s at beta
  double residual = 0;                               ///< of A = Delta^-1 Lambda K, largest
  double constant_error = 0;                         ///< of the level constants at the smallest eps, relative, largest
  double stacked_constant = 0;                       ///< max of kappa_2(M_i) eps^r* / sqrt(N)
  double stacked_bound = 0;                          ///< C of docs/theory.md, eq. 23, the largest over eps
  bool bounds_hold = true;                           ///< docs/theory.md, eq. 21, at every point
  bool stacked_bound_holds = true;                   ///< docs/theory.md, eq. 23, at every point
  Verdict verdict = Verdict::holds;
  std::string reason;  ///< one clause
};

struct ConditioningStudy {
  ConditioningOptions options;
  std::vector<SeedConditioning> seeds;

  /// The worst verdict of all seeds.
  [[nodiscard]] Verdict verdict() const;
};

/// Runs the study, or goes on with it: points that `folder` holds already are read. All points are computed in Wide and
/// do not depend on the number of threads.
/// @return nothing if it was stopped; finished eps values are kept
/// @throws std::invalid_argument or Error with a sentence for options out of range, a singular K^(l), too few digits;
///   FileError if the folder holds another run. Nothing is written then.
[[nodiscard]] std::optional<ConditioningStudy> study_conditioning(const ConditioningOptions& options,
                                                                  const std::filesystem::path& folder,
                                                                  const StudyHooks& hooks);

/// Writes singular_values.csv, kappa.csv, slopes.csv, summary.json, singular_values.png and kappa.png.
/// @param folder  of the study
void write_conditioning(const ConditioningStudy& study, const std::filesystem::path& folder);

[[nodiscard]] nlohmann::ordered_json conditioning_summary(const ConditioningStudy& study);

/// The tables for the terminal.
[[nodiscard]] std::string conditioning_table(const ConditioningStudy& study);

}  // namespace cerar
