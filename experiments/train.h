#pragma once

#include "collective/communicator.h"
#include "experiments/fashion_mnist.h"
#include "experiments/mlp.h"
#include "experiments/optimizer.h"
#include "experiments/train_records.h"

#include <Eigen/Core>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cerar {

struct TrainOptions {
  Algorithm reduce = Algorithm::exact;
  std::optional<std::int64_t> steps;   ///< updates; neither this nor epochs: 1000
  std::optional<std::int64_t> epochs;  ///< passes of every worker over its shard, in whole batches; not with steps
  std::int64_t batch = 64;             ///< images per worker and step
  OptimizerKind optimizer = OptimizerKind::sgd;
  std::optional<double>
      learning_rate;       ///< at the first step, falling linearly to zero; nothing: the optimizer's default
  std::uint64_t seed = 1;  ///< of the initialisation, the shards and the order of images
  /// Measures errors and reports at the first step, every K-th and the last. 0: never measures; the loss is reported
  /// every 10 steps.
  std::int64_t report_error_every = 10;
  MlpShape network;
  bool measure_covariance = false;  ///< TrainResult::covariance is wanted; needs errors to be measured
  std::string code_file;            ///< for the header record; the code itself is the communicator's
  std::string version;              ///< for the header record
  /// Asked every few steps on every rank; true on any of them ends the run after that step, on all at the same.
  std::function<bool()> stop_requested;
};

/// Throws std::invalid_argument with a sentence unless every number is in its range and steps and epochs are not both
/// given.
void validate(const TrainOptions& options);

struct TrainResult {
  TrainSummary summary;           ///< the same on every rank but for the times and bytes, which are the rank's own
  std::vector<float> parameters;  ///< this rank's replica
  /// Covariance between the workers' gradients in the measured steps, see GradientCovariance; the same on every rank.
  /// Empty unless asked for.
  Eigen::MatrixXd covariance;
};

/// Data-parallel training: every rank starts from the same parameters, draws batches from its own shard, sums the
/// gradients over the ring with the tensors' boundaries named, divides by N and updates its own replica.
///
/// A reported step gathers all gradients and replicas to measure the errors of TrainStep; the records' times and bytes
/// leave that out.
///
/// @param reporter  receives the records on rank 0; may be null; unused on other ranks
/// @throws std::invalid_argument for options or data that do not fit, RingError if the ring fails or a gradient holds a
/// NaN
///   or an infinity, what `reporter` throws, and Error if OpenBLAS multiplies wrongly
TrainResult train(Communicator& communicator, const FashionMnist& data, const TrainOptions& options,
                  TrainReporter* reporter);

}  // namespace cerar
