#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cerar {

/// What is known of the machine without naming it.
struct MachineFacts {
  std::int64_t processors = 0;  ///< hardware threads of rank 0's host
  std::string compiler;         ///< e.g. "GCC 12.2.0"
  std::string blas;             ///< the kernels OpenBLAS picked, e.g. "Haswell"

  friend bool operator==(const MachineFacts&, const MachineFacts&) = default;
};

/// The code a run used, as far as a reader of its results wants to know.
struct CodeFacts {
  std::string file;  ///< as the user gave it
  std::string hash;  ///< 16 hexadecimal digits, hash(code)
  std::string construction;
  std::int64_t chunks = 0;
  std::int64_t rounds = 0;
  double predicted_relative_error = 0;

  friend bool operator==(const CodeFacts&, const CodeFacts&) = default;
};

/// First record of a training run: everything needed to run it again.
struct TrainHeader {
  std::string version;  ///< of CERAR
  std::int64_t workers = 0;
  std::string reduce;             ///< exact, naive, coded or piggyback
  std::optional<CodeFacts> code;  ///< with reduce coded or piggyback
  std::int64_t steps = 0;         ///< planned
  std::int64_t batch = 0;         ///< images per worker and step
  std::string optimizer;
  double learning_rate = 0;  ///< of the first step; falls linearly to zero
  std::uint64_t seed = 0;
  std::int64_t report_error_every = 0;  ///< 0: errors not measured
  std::int64_t parameters = 0;
  std::vector<std::int64_t> tensor_lengths;
  std::int64_t training_images = 0;
  std::int64_t test_images = 0;
  MachineFacts machine;

  friend bool operator==(const TrainHeader&, const TrainHeader&) = default;
};

/// One reported step. The measured errors are absent in a run that does not measure them.
struct TrainStep {
  std::int64_t step = 0;  ///< 1 for the first
  double loss = 0;        ///< mean over workers of their batches' cross-entropy in nats, before the step's update
  /// ||ghat - g|| / ||g||, the largest of all workers; g is the double-precision sum of the same gradients.
  std::optional<double> gradient_error;
  std::optional<double> gradient_error_worst_layer;  ///< the same for each tensor by itself, the largest
  std::optional<double> replica_divergence;          ///< max over r of ||w_r - w_0|| / ||w_0||, after the update
  std::int64_t wire_bytes = 0;                       ///< sent by rank 0 in this step's all-reduce, headers included

  friend bool operator==(const TrainStep&, const TrainStep&) = default;
};

/// Last record of a run.
struct TrainSummary {
  std::string reduce;
  std::int64_t steps = 0;             ///< done
  bool interrupted = false;           ///< a signal ended the run before its planned steps
  std::vector<double> test_accuracy;  ///< of each replica, in rank order, in [0, 1]
  double seconds = 0;                 ///< rank 0's training time without measuring errors, reporting and testing
  double communication_seconds = 0;   ///< of these, inside training's all-reduces, waiting for other workers included
  std::int64_t wire_bytes = 0;        ///< sent by rank 0 in all of training's all-reduces
  std::optional<double> gradient_error_mean;  ///< over the reported steps
  std::optional<double> gradient_error_max;
  std::optional<double> gradient_error_worst_layer_max;
  std::optional<double> replica_divergence;  ///< at the last reported step

  friend bool operator==(const TrainSummary&, const TrainSummary&) = default;
};

/// Each record as one JSON object: the field "type" is header, step or summary, the others are called as the members.
/// Numbers round-trip exactly; an infinite error becomes null, as JSON has none.
[[nodiscard]] nlohmann::ordered_json to_json(const TrainHeader& header);
[[nodiscard]] nlohmann::ordered_json to_json(const TrainStep& step);
[[nodiscard]] nlohmann::ordered_json to_json(const TrainSummary& summary);

/// Receives a run's records as they are measured; called on rank 0 only.
class TrainReporter {
 public:
  TrainReporter() = default;
  TrainReporter(const TrainReporter&) = delete;
  TrainReporter& operator=(const TrainReporter&) = delete;
  virtual ~TrainReporter() = default;
  virtual void header(const TrainHeader& record) = 0;
  virtual void step(const TrainStep& record) = 0;
  virtual void summary(const TrainSummary& record) = 0;
};

}  // namespace cerar
