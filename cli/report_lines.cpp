#include "cli/report_lines.h"

#include "coding/covariance.h"

#include <fmt/core.h>

namespace cerar::cli {
namespace {

std::string against_exact_ring(const RingShape& shape) {
  const double exact = shape.exact_ring_rate();
  if (shape.workers == 1) {
    return "a single worker's gradient is the sum: the exact ring sends nothing";
  }
  if (shape.rate() >= exact) {
    return fmt::format("exact ring {:.4f}: the same", exact);
  }
  return fmt::format("exact ring {:.4f}: {:.1f} % fewer bytes", exact, 100 * (1 - shape.rate() / exact));
}

}  // namespace

std::string report_line(std::string_view name, const std::string& value, const std::string& remark) {
  return remark.empty() ? fmt::format("  {:<26}{}\n", name, value)
                        : fmt::format("  {:<26}{:<14}{}\n", name, value, remark);
}

std::string percent(double value) { return fmt::format("{:.3g} %", 100 * value); }

std::string ring_lines(const RingShape& shape) {
  return report_line("rounds", fmt::format("{}", shape.rounds()),
                     fmt::format("exact ring {} (longer messages)", 2 * (shape.workers - 1))) +
         report_line("rate", fmt::format("{:.4f}", shape.rate()), against_exact_ring(shape));
}

std::string noise_line(const NoiseModel& noise) {
  const std::string statistics =
      noise.covariance.size() > 0
          ? fmt::format("measured covariance, mean correlation {:.3g}", mean_correlation(noise.covariance))
          : fmt::format("correlation {:g}", noise.correlation);
  return report_line("designed for",
                     fmt::format("{} wire, eta {:.3g}, {} between workers", noise.wire, noise.eta, statistics));
}

}  // namespace cerar::cli
