#pragma once

#include <vector>

namespace cerar {

/// A power law y = constant x^slope fitted by least squares of log y on log x.
struct LogLogFit {
  double slope = 0;
  double slope_error = 0;  ///< standard error, from the scatter round the line; 0 for two points
  double constant = 0;
};

/// @param x, y  positive, equally many, at least two different x
/// @throws std::invalid_argument otherwise
[[nodiscard]] LogLogFit fit_log_log(const std::vector<double>& x, const std::vector<double>& y);

/// `points` values from `first` to `last`, both positive, equidistant in the logarithm, ends included.
[[nodiscard]] std::vector<double> log_grid(double first, double last, int points);

}  // namespace cerar
