#include "cli/code_report.h"

#include "cli/report_lines.h"
#include "coding/covariance.h"
#include "coding/prediction.h"
#include "coding/simulation.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace cerar::cli {
namespace {

using nlohmann::ordered_json;

/// The measured covariance as a list of rows; null where there is none.
ordered_json covariance_json(const NoiseModel& noise) {
  ordered_json rows;
  for (const auto row : noise.covariance.rowwise()) {
    rows.push_back(std::vector<double>(row.begin(), row.end()));
  }
  return rows;
}

ordered_json number_or_null(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr); }

std::string decoding_text(const Code& code) {
  if (code.decoder == Decoder::paper) {
    return fmt::format("the paper's: {} vectors with the own contribution inside", code.kept());
  }
  return fmt::format("own-exact, from the {} vectors received in rounds {} .. {}", code.kept(), code.first_kept_round,
                     code.shape.rounds());
}

}  // namespace

CodeReport make_report(const Code& code) {
  const RingShape& shape = code.shape;
  CodeReport report;
  report.phi = phi(code);
  report.kappa_max = kappa_max(code);
  if (code.simulated_relative_error) {
    report.simulated_relative_error = *code.simulated_relative_error;
  } else {
    const std::int64_t values = std::clamp<std::int64_t>(simulated_total / (shape.workers * shape.chunks), 16, 4096);
    report.simulated_values = values * shape.chunks;
    report.simulated_relative_error = simulate(code, values, 1).relative;
  }
  report.encode_terms = (code.encoders.front().array() != 0).count();
  report.decode_terms = (code.decoders.front().array() != 0).count();
  const ErrorPrediction prediction = predict_error(code);
  for (const WorkerError& worker : prediction.workers) {
    report.worker_errors.push_back(worker.relative);
  }
  const double truth = std::sqrt(worker_covariance(code.noise, shape.workers).sum());
  const WorkerError& first = prediction.workers.front();
  const Eigen::ArrayXd by_chunk = (first.deterministic.array().square() + first.noise.array().square()).sqrt() / truth;
  report.best_chunk_error = by_chunk.minCoeff();
  report.worst_chunk_error = by_chunk.maxCoeff();
  return report;
}

ordered_json report_json(const Code& code, const CodeReport& report) {
  ordered_json parameters = ordered_json::object();
  for (const auto& [name, value] : code.construction.parameters) {
    parameters[name] = value;
  }
  return {{"workers", code.shape.workers},
          {"chunks", code.shape.chunks},
          {"rounds", code.shape.rounds()},
          {"rate", code.shape.rate()},
          {"exact_ring_rate", code.shape.exact_ring_rate()},
          {"construction", code.construction.name},
          {"parameters", parameters},
          {"seed", code.construction.seed},
          {"decoder", name(code.decoder)},
          {"first_kept_round", code.first_kept_round},
          {"wire", code.noise.wire},
          {"eta", code.noise.eta},
          {"correlation", code.noise.correlation},
          {"covariance", covariance_json(code.noise)},
          {"predicted_relative_error", number_or_null(code.predicted_relative_error)},
          {"simulated_relative_error", number_or_null(report.simulated_relative_error)},
          {"phi", number_or_null(report.phi)},
          {"kappa_max", number_or_null(report.kappa_max)},
          {"encode_terms", report.encode_terms},
          {"decode_terms", report.decode_terms},
          {"worker_errors", report.worker_errors},
          {"chunk_error_min", number_or_null(report.best_chunk_error)},
          {"chunk_error_max", number_or_null(report.worst_chunk_error)},
          {"hash", fmt::format("{:016x}", hash(code))}};
}

std::string report_text(const Code& code, const CodeReport& report) {
  const RingShape& shape = code.shape;
  std::string text =
      fmt::format("{} code for {} workers and {} chunks\n", code.construction.name, shape.workers, shape.chunks);
  text += ring_lines(shape);
  text += report_line("decoding", decoding_text(code));
  for (const auto& [name, value] : code.construction.parameters) {
    text += report_line(name, fmt::format("{:.4g}", value));
  }
  if (code.construction.seed != 0) {
    text += report_line("seed", fmt::format("{}", code.construction.seed));
  }
  text += noise_line(code.noise);
  text += report_line(
      "predicted relative error", percent(code.predicted_relative_error),
      fmt::format("by chunk {} to {}", percent(report.best_chunk_error), percent(report.worst_chunk_error)));
  text +=
      report_line(code.noise.wire == "f32" ? "simulated in float32" : fmt::format("simulated in {}", code.noise.wire),
                  percent(report.simulated_relative_error),
                  report.simulated_values > 0 ? fmt::format("N(0,1) gradients of {} values", report.simulated_values)
                                              : "N(0,1) gradients, when it was fitted");
  text += report_line("kappa_2, largest", fmt::format("{:.3g}", report.kappa_max));
  text += report_line("Phi", fmt::format("{:.3g}", report.phi));
  text += report_line(
      "arithmetic",
      fmt::format("{:.2f} + {:.2f}", static_cast<double>(report.encode_terms) / static_cast<double>(shape.chunks),
                  static_cast<double>(report.decode_terms) / static_cast<double>(shape.chunks)),
      "multiplications a gradient value to encode and to decode");
  return text + report_line("hash", fmt::format("{:016x}", hash(code)));
}

}  // namespace cerar::cli
