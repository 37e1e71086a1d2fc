#include "experiments/study/log_log_fit.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace cerar {

LogLogFit fit_log_log(const std::vector<double>& x, const std::vector<double>& y) {
  const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
  if (x.size() != y.size() || x.size() < 2 || !std::all_of(x.begin(), x.end(), positive) ||
      !std::all_of(y.begin(), y.end(), positive)) {
    throw std::invalid_argument("a power law needs at least two points with positive, finite coordinates");
  }
  const auto count = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / count;
    mean_y += std::log(y[i]) / count;
  }
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += std::pow(std::log(x[i]) - mean_x, 2);
    xy += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
  }
  if (xx == 0) {
    throw std::invalid_argument("a power law needs two different abscissae");
  }
  LogLogFit fit;
  fit.slope = xy / xx;
  fit.constant = std::exp(mean_y - fit.slope * mean_x);
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += std::pow(std::log(y[i]) - mean_y - fit.slope * (std::log(x[i]) - mean_x), 2);
  }
  fit.slope_error = x.size() > 2 ? std::sqrt(squares / (count - 2) / xx) : 0;
  return fit;
}

std::vector<double> log_grid(double first, double last, int points) {
  std::vector<double> grid;
  for (int i = 0; i < points; ++i) {
    grid.push_back(i == 0            ? first
                   : i == points - 1 ? last
                                     : first * std::pow(last / first, static_cast<double>(i) / (points - 1)));
  }
  return grid;
}

}  // namespace cerar
