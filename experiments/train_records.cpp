#include "experiments/train_records.h"

#include <nlohmann/json.hpp>

namespace cerar {
namespace {

using Json = nlohmann::ordered_json;

void set_if_measured(Json& object, const char* field, const std::optional<double>& value) {
  if (value) {
    object[field] = *value;  // the library writes null for an infinity
  }
}

}  // namespace

Json to_json(const TrainHeader& header) {
  Json object{{"type", "header"},          {"format", 1},
              {"program", "cerar train"},  {"version", header.version},
              {"workers", header.workers}, {"reduce", header.reduce}};
  if (header.code) {
    object["code"] = {{"file", header.code->file},
                      {"hash", header.code->hash},
                      {"construction", header.code->construction},
                      {"chunks", header.code->chunks},
                      {"rounds", header.code->rounds},
                      {"predicted_relative_error", header.code->predicted_relative_error}};
  }
  object["steps"] = header.steps;
  object["batch"] = header.batch;
  object["optimizer"] = header.optimizer;
  object["learning_rate"] = header.learning_rate;
  object["seed"] = header.seed;
  object["report_error_every"] = header.report_error_every;
  object["parameters"] = header.parameters;
  object["tensor_lengths"] = header.tensor_lengths;
  object["training_images"] = header.training_images;
  object["test_images"] = header.test_images;
  object["machine"] = {
      {"processors", header.machine.processors}, {"compiler", header.machine.compiler}, {"blas", header.machine.blas}};
  return object;
}

Json to_json(const TrainStep& step) {
  Json object{{"type", "step"}, {"step", step.step}, {"loss", step.loss}};
  set_if_measured(object, "gradient_error", step.gradient_error);
  set_if_measured(object, "gradient_error_worst_layer", step.gradient_error_worst_layer);
  set_if_measured(object, "replica_divergence", step.replica_divergence);
  object["wire_bytes"] = step.wire_bytes;
  return object;
}

Json to_json(const TrainSummary& summary) {
  Json object{{"type", "summary"},
              {"reduce", summary.reduce},
              {"steps", summary.steps},
              {"interrupted", summary.interrupted},
              {"test_accuracy", summary.test_accuracy},
              {"seconds", summary.seconds},
              {"communication_seconds", summary.communication_seconds},
              {"wire_bytes", summary.wire_bytes}};
  set_if_measured(object, "gradient_error_mean", summary.gradient_error_mean);
  set_if_measured(object, "gradient_error_max", summary.gradient_error_max);
  set_if_measured(object, "gradient_error_worst_layer_max", summary.gradient_error_worst_layer_max);
  set_if_measured(object, "replica_divergence", summary.replica_divergence);
  return object;
}

}  // namespace cerar
