#include "cli/trace_json.h"

#include "cli/trace_text.h"

#include <cstddef>
#include <string>

namespace cerar::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_encoder_numbers = 50'000;

Json term_json(const TraceTerm& term) { return Json::array({term.worker, term.round}); }

Json term_json(const std::optional<TraceTerm>& term) { return term ? term_json(*term) : Json(nullptr); }

Json sum_json(const TraceSum& sum) {
  Json list = Json::array();
  for (const TraceTerm& term : sum) {
    list.push_back(term_json(term));
  }
  return list;
}

Json kept_json(const KeptVector& vector) {
  const std::string letter = vector_name(vector, 0).substr(0, 1);
  return {{"vector", letter}, {"round", vector.round}};
}

Json step_json(const TraceStep& step) {
  Json kept = Json::array();
  for (const KeptVector& vector : step.kept) {
    kept.push_back(kept_json(vector));
  }
  return {{"worker", step.worker},
          {"sends_to", step.sends_to},
          {"receives_from", step.receives_from},
          {"sent", sum_json(step.sent)},
          {"received", sum_json(step.received)},
          {"removed", term_json(step.removed)},
          {"others", sum_json(step.others)},
          {"kept", kept},
          {"added", term_json(step.added)}};
}

Json schedule_json(const Trace& trace, std::optional<std::int64_t> worker) {
  Json schedule = Json::array();
  for (std::size_t t = 0; t < trace.rounds.size(); ++t) {
    Json steps = Json::array();
    for (const TraceStep& step : trace.rounds[t]) {
      if (!worker || *worker == step.worker) {
        steps.push_back(step_json(step));
      }
    }
    schedule.push_back({{"round", t + 1}, {"steps", steps}});
  }
  return schedule;
}

Json decoding_json(const Trace& trace, std::optional<std::int64_t> worker) {
  Json decoding = Json::array();
  for (std::int64_t i = 0; i < trace.shape.workers; ++i) {
    if (worker && *worker != i) {
      continue;
    }
    Json rows = Json::array();
    for (const KeptVector& vector : trace.kept[static_cast<std::size_t>(i)]) {
      Json row = kept_json(vector);
      row["sum"] = sum_json(vector.sum);
      rows.push_back(row);
    }
    decoding.push_back({{"worker", i}, {"equation", decoding_equation(trace, i)}, {"kept", rows}});
  }
  return decoding;
}

Json matrix_json(const Eigen::MatrixXd& matrix) {
  Json rows = Json::array();
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    Json numbers = Json::array();
    for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
      numbers.push_back(matrix(row, column));
    }
    rows.push_back(numbers);
  }
  return rows;
}

}  // namespace

Json trace_json(const Trace& trace, std::optional<std::int64_t> worker, const Code* code) {
  const RingShape& shape = trace.shape;
  Json json{{"workers", shape.workers},
            {"chunks", shape.chunks},
            {"rounds", shape.rounds()},
            {"rate", shape.rate()},
            {"exact_ring_rate", shape.exact_ring_rate()},
            {"decoder", name(trace.decoder)},
            {"first_kept_round", trace.first_kept_round},
            {"kept_vectors", trace.kept.front().size()},
            {"schedule", schedule_json(trace, worker)},
            {"decoding", decoding_json(trace, worker)}};
  if (code != nullptr && shape.workers * shape.rounds() * shape.chunks <= most_encoder_numbers) {
    json["encoders"] = Json::array();
    for (const Eigen::MatrixXd& encoder : code->encoders) {
      json["encoders"].push_back(matrix_json(encoder));
    }
  }
  return json;
}

}  // namespace cerar::cli
