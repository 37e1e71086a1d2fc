#pragma once

#include "coding/ring_shape.h"
#include "experiments/study/log_log_fit.h"
#include "experiments/study/study_hooks.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cerar {

struct ExponentOptions {
  std::int64_t workers = 4;
  std::vector<std::int64_t> chunks;  ///< each above N
  std::vector<double> eta;           ///< rms relative rounding error of one operation; largest first, at least 3
};

/// The best code of a construction on a wire of precision eta.
struct ExponentPoint {
  double eta = 0;
  double error = 0;  ///< sqrt of eq. 11 without the decoder's additions, at the best parameters
  double delta = 0;  ///< 0 where the construction has none
  double eps = 0;
};

struct ExponentCurve {
  std::string construction;  ///< cyclic, decoded from the last c vectors, or overlapped, from all
  RingShape shape;
  double theory = 0;  ///< 1 / (1 + r*), or for overlapped 1 / max(2, r*)
  std::vector<ExponentPoint> points;
  LogLogFit fit;  ///< of error against eta, the smaller half of eta
};

struct ExponentStudy {
  ExponentOptions options;
  std::vector<ExponentCurve> curves;
  int digits = 0;
  bool holds = false;  ///< every slope within 0.03 of theory
};

/// Minimises the predicted error over the parameters for every eta, in multiprecision: below eta of about 1e-8 double
/// would add more than the wire does (docs/theory.md, "Error against eta").
/// @return nothing if it was stopped; finished points are kept in `folder`
/// @throws std::invalid_argument for options out of range; Error if double the precision changes a figure
[[nodiscard]] std::optional<ExponentStudy> study_exponents(const ExponentOptions& options,
                                                           const std::filesystem::path& folder,
                                                           const StudyHooks& hooks);

/// Writes exponents.csv, summary.json and exponents.png.
void write_exponents(const ExponentStudy& study, const std::filesystem::path& folder);

[[nodiscard]] std::string exponents_table(const ExponentStudy& study);

}  // namespace cerar
