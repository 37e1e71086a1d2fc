#include "experiments/study/cost_fit.h"

#include "experiments/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace cerar {
namespace {

CostFit& fit_of(std::vector<CostFit>& fits, const std::string& algorithm) {
  const auto found = std::ranges::find(fits, algorithm, &CostFit::algorithm);
  return found != fits.end() ? *found : fits.emplace_back(CostFit{algorithm, 0, 0, 0, {}});
}

/// Minimises the sum of (alpha x + beta y - 1)^2 with x = L / T, y = b / T.
void solve(CostFit& fit) {
  double xx = 0;
  double xy = 0;
  double yy = 0;
  double x1 = 0;
  double y1 = 0;
  for (const CostPoint& point : fit.points) {
    const double x = point.rounds / point.seconds;
    const double y = point.sent_bytes / point.seconds;
    xx += x * x;
    xy += x * y;
    yy += y * y;
    x1 += x;
    y1 += y;
  }
  const double determinant = xx * yy - xy * xy;
  fit.alpha_seconds = (x1 * yy - y1 * xy) / determinant;
  fit.beta_seconds_per_byte = (y1 * xx - x1 * xy) / determinant;
  if (!(fit.alpha_seconds >= 0)) {
    fit.alpha_seconds = 0;
    fit.beta_seconds_per_byte = y1 / yy;
  } else if (fit.beta_seconds_per_byte < 0) {
    fit.beta_seconds_per_byte = 0;
    fit.alpha_seconds = x1 / xx;
  }
  double squares = 0;
  for (CostPoint& point : fit.points) {
    point.fitted = fit.alpha_seconds * point.rounds + fit.beta_seconds_per_byte * point.sent_bytes;
    squares += std::pow(point.fitted / point.seconds - 1, 2);
  }
  fit.rms = std::sqrt(squares / static_cast<double>(fit.points.size()));
}

/// Two points on one line through the origin tell alpha and beta not apart.
bool determines_both(const CostFit& fit) {
  return std::ranges::any_of(fit.points, [&](const CostPoint& point) {
    const CostPoint& first = fit.points.front();
    return std::abs(point.rounds * first.sent_bytes / (first.rounds * point.sent_bytes) - 1) > 1e-6;
  });
}

}  // namespace

std::vector<CostFit> fit_costs(const std::vector<bench::BenchReport>& reports) {
  std::vector<CostFit> fits;
  for (const bench::BenchReport& report : reports) {
    for (const bench::BenchRow& row : report.rows) {
      if (row.algorithm != "auto" && row.count > 0 && row.wire_bytes > 0 && row.time_us > 0) {
        fit_of(fits, row.algorithm)
            .points.push_back({row.size_bytes, static_cast<double>(report.rounds(row)),
                               static_cast<double>(row.wire_bytes), 1e-6 * row.time_us, 0});
      }
    }
  }
  std::erase_if(fits, [](const CostFit& fit) { return !determines_both(fit); });
  for (CostFit& fit : fits) {
    solve(fit);
  }
  return fits;
}

std::string cost_table(const std::vector<CostFit>& fits) {
  TextTable table;
  table.add_row({"algorithm", "alpha us/round", "beta ns/byte", "1/beta GB/s", "rms"});
  table.add_rule();
  for (const CostFit& fit : fits) {
    table.add_row({fit.algorithm, fmt::format("{:.2f}", 1e6 * fit.alpha_seconds),
                   fmt::format("{:.4f}", 1e9 * fit.beta_seconds_per_byte),
                   fmt::format("{:.3f}", 1e-9 / fit.beta_seconds_per_byte), fmt::format("{:.1f} %", 100 * fit.rms)});
  }
  TextTable residuals;
  residuals.add_row({"algorithm", "bytes", "rounds", "measured us", "fitted us", "fitted is"});
  residuals.add_rule();
  for (const CostFit& fit : fits) {
    for (const CostPoint& point : fit.points) {
      residuals.add_row({fit.algorithm, fmt::format("{}", point.bytes), fmt::format("{:.0f}", point.rounds),
                         fmt::format("{:.1f}", 1e6 * point.seconds), fmt::format("{:.1f}", 1e6 * point.fitted),
                         fmt::format("{:+.1f} %", 100 * (point.fitted / point.seconds - 1))});
    }
  }
  return table.text() + "\n" + residuals.text();
}

}  // namespace cerar
