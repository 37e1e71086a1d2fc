#include "cli/piggyback_report.h"

#include "cli/report_lines.h"
#include "coding/conditioning.h"
#include "coding/piggyback_integer_reference.h"
#include "coding/piggyback_reference.h"
#include "coding/simulation.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace cerar::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t largest_map = 1024;  ///< N c up to which the maps take well under a second

ordered_json or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

}  // namespace

PiggybackReport make_report(const PiggybackCode& code) {
  PiggybackReport report;
  const RingShape& shape = code.shape;
  if (code.is_exact()) {
    report.phi = 0;
    report.kappa_max = 1;
    return report;
  }
  const std::int64_t values = std::clamp<std::int64_t>(simulated_total / (shape.workers * shape.chunks), 16, 4096);
  const auto gradients = random_gradients<float>(shape, values, code.noise.correlation, 1);
  report.simulated_relative_error =
      measured_error<float>(gradients, code.is_integer() ? piggyback_integer_reference(code, gradients)
                                                         : piggyback_reference<float>(code, gradients))
          .relative;
  if (shape.workers * shape.chunks > largest_map) {
    return report;
  }
  const PiggybackMaps<double> maps = piggyback_maps<double>(code);
  const Matrix<double> target = Matrix<double>::Identity(shape.chunks, shape.chunks).replicate(shape.workers, 1);
  double phi = 0;
  double kappa = 1;
  for (std::size_t worker = 0; worker < maps.results.size(); ++worker) {
    phi += (maps.results[worker] - target).squaredNorm();
    kappa = std::max(kappa, kappa2(maps.received[worker]));
  }
  report.phi = phi;
  report.kappa_max = kappa;
  return report;
}

ordered_json report_json(const PiggybackCode& code, const PiggybackReport& report) {
  return {{"workers", code.shape.workers},
          {"chunks", code.shape.chunks},
          {"rounds", code.shape.rounds()},
          {"rate", code.shape.rate()},
          {"exact_ring_rate", code.shape.exact_ring_rate()},
          {"construction", "piggyback"},
          {"parameters", {{"d", code.d}}},
          {"adapts_scale", code.adapts_scale},
          {"wire", code.noise.wire},
          {"eta", code.noise.eta},
          {"correlation", code.noise.correlation},
          {"predicted_relative_error", code.predicted_relative_error},
          {"simulated_relative_error", or_null(report.simulated_relative_error)},
          {"phi", or_null(report.phi)},
          {"kappa_max", or_null(report.kappa_max)},
          {"hash", fmt::format("{:016x}", hash(code))}};
}

std::string report_text(const PiggybackCode& code, const PiggybackReport& report) {
  const RingShape& shape = code.shape;
  std::string text = fmt::format("piggyback code for {} workers and {} chunks\n", shape.workers, shape.chunks);
  text += ring_lines(shape);
  text += code.is_exact() ? report_line("d", "none", "nothing is superposed: this is the exact ring")
                          : report_line("d", fmt::format("{:.4g}", code.d),
                                        code.is_integer()   ? "against each chunk's own peak"
                                        : code.adapts_scale ? "times a power of two where groups differ in size"
                                                            : "fixed");
  text += noise_line(code.noise);
  text += report_line("predicted relative error", percent(code.predicted_relative_error));
  if (report.simulated_relative_error) {
    text += report_line(code.is_integer() ? "simulated with int32" : "simulated in float32",
                        percent(*report.simulated_relative_error), "N(0,1) gradients");
  }
  if (report.kappa_max) {
    text += report_line("kappa_2, largest", fmt::format("{:.3g}", *report.kappa_max));
    text += report_line("Phi", fmt::format("{:.3g}", *report.phi));
  }
  return text + report_line("hash", fmt::format("{:016x}", hash(code)));
}

}  // namespace cerar::cli
