#pragma once

#include <functional>
#include <vector>

namespace cerar {

/// A positive parameter that is searched on a logarithmic scale.
struct LogRange {
  double low = 0;
  double high = 0;
  int points = 2;  ///< of the coarse grid, both ends included; at least 2
};

struct SearchResult {
  std::vector<double> point;
  double value = 0;
  int evaluations = 0;
};

/// Minimises over a box of positive parameters, usually one or two; with none it evaluates once: every point of a grid
/// that is regular in the logarithm, then a pattern search from the best one, along one parameter at a time, whose step
/// is halved until it is below `resolution`, then `neighbours` random points round the best one: an objective that sees
/// its point rounded to the wire is jagged on a fine scale, and a lucky rounding is worth having. Points whose value is
/// not finite lose. Deterministic.
///
/// @param resolution  of the logarithm at the end of the pattern search
/// @param neighbours  random points, each parameter within a factor exp(+-10 resolution)
[[nodiscard]] SearchResult log_search(const std::function<double(const std::vector<double>&)>& objective,
                                      const std::vector<LogRange>& box, double resolution, int neighbours);

}  // namespace cerar
