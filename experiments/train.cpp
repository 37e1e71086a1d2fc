#include "experiments/train.h"

#include "experiments/agreement.h"
#include "experiments/blas.h"
#include "experiments/gradient_error.h"
#include "experiments/pixel_scale.h"
#include "experiments/shard.h"
#include "experiments/train_diagnostics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

namespace cerar {
namespace {

constexpr std::int64_t default_steps = 1000;
/// Steps between two questions whether to stop, and between two reports of the loss where errors are not measured.
constexpr std::int64_t control_interval = 10;

template <class Work>
void timed(double& seconds, Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Trainer {
 public:
  Trainer(Communicator& communicator, const FashionMnist& data, const TrainOptions& options, TrainReporter* reporter)
      : communicator_(communicator),
        data_(data),
        options_(options),
        reporter_(communicator.rank() == 0 ? reporter : nullptr),
        scale_(data.training),
        shard_(data.training, communicator.rank(), communicator.size(), options.batch, options.seed),
        steps_(options.epochs ? *options.epochs * shard_.steps_per_epoch() : options.steps.value_or(default_steps)),
        learning_rate_(options.learning_rate.value_or(default_learning_rate(options.optimizer))),
        network_(options.network),
        tensor_lengths_(options.network.tensor_lengths()),
        optimizer_(options.optimizer, options.network.parameters()),
        parameters_(static_cast<std::size_t>(options.network.parameters())),
        gradient_(parameters_.size()),
        diagnostics_(communicator, {tensor_lengths_.begin(), tensor_lengths_.end()}) {
    initialise(options.network, options.seed, parameters_);
  }

  TrainResult run() {
    require_agreement(communicator_, {{"steps", static_cast<double>(steps_)},
                                      {"batch", static_cast<double>(options_.batch)},
                                      {"optimizer (0 sgd, 1 adam)", static_cast<double>(options_.optimizer)},
                                      {"learning rate", learning_rate_},
                                      {"seed", static_cast<double>(options_.seed)},
                                      {"report-error-every", static_cast<double>(options_.report_error_every)},
                                      {"number of training images", static_cast<double>(data_.training.count())},
                                      {"number of test images", static_cast<double>(data_.test.count())}});
    if (reporter_ != nullptr) {
      reporter_->header(make_header());
    }
    bool stop = false;
    while (summary_.steps < steps_ && !stop) {
      stop = train_step(++summary_.steps);
    }
    finish();
    return {std::move(summary_), std::move(parameters_),
            options_.measure_covariance ? diagnostics_.covariance().scaled() : Eigen::MatrixXd()};
  }

 private:
  [[nodiscard]] bool is_every(std::int64_t step, std::int64_t interval) const {
    return step == 1 || step % interval == 0 || step == steps_;
  }

  /// @return whether to stop after this step
  bool train_step(std::int64_t step) {
    const bool measures = options_.report_error_every > 0 && is_every(step, options_.report_error_every);
    const bool reports = options_.report_error_every > 0 ? measures : is_every(step, control_interval);
    double loss = 0;
    timed(computing_seconds_, [&] {
      shard_.next(scale_, images_, classes_);
      loss = network_.loss_and_gradient(parameters_, images_, classes_, gradient_);
    });
    if (measures) {
      diagnostics_.remember_gradient(gradient_);
    }
    const std::int64_t wire_bytes = reduce_gradient();
    if (measures) {
      diagnostics_.measure_gradient(gradient_);
    }
    timed(computing_seconds_, [&] { update(step); });
    if (measures) {
      diagnostics_.measure_replicas(parameters_);
    }
    if (!reports && !is_every(step, control_interval)) {
      return false;
    }
    const SharedFacts facts = diagnostics_.exchange(loss, options_.stop_requested && options_.stop_requested());
    if (reports) {
      report(step, facts, wire_bytes);
    }
    return facts.stop;
  }

  /// @return bytes this rank has sent for it
  std::int64_t reduce_gradient() {
    const Statistics before = communicator_.statistics();
    timed(summary_.communication_seconds, [&] {
      communicator_.all_reduce(gradient_, {.algorithm = options_.reduce, .tensor_lengths = tensor_lengths_});
    });
    const Statistics& after = communicator_.statistics();
    const std::int64_t bytes = after.payload_bytes - before.payload_bytes + after.header_bytes - before.header_bytes;
    summary_.wire_bytes += bytes;
    return bytes;
  }

  void update(std::int64_t step) {
    const auto workers = static_cast<float>(communicator_.size());
    for (float& value : gradient_) {
      value /= workers;
    }
    const double left = 1 - static_cast<double>(step - 1) / static_cast<double>(steps_);
    optimizer_.update(parameters_, gradient_, learning_rate_ * left);
  }

  void report(std::int64_t step, const SharedFacts& facts, std::int64_t wire_bytes) {
    if (facts.gradient_error) {
      ++measured_steps_;
      error_sum_ += *facts.gradient_error;
      summary_.gradient_error_max = std::max(summary_.gradient_error_max.value_or(0), *facts.gradient_error);
      summary_.gradient_error_worst_layer_max =
          std::max(summary_.gradient_error_worst_layer_max.value_or(0), *facts.gradient_error_worst_layer);
      summary_.replica_divergence = facts.replica_divergence;
    }
    if (reporter_ != nullptr) {
      reporter_->step({step, facts.mean_loss, facts.gradient_error, facts.gradient_error_worst_layer,
                       facts.replica_divergence, wire_bytes});
    }
  }

  /// Tests every replica and reports the summary.
  void finish() {
    const auto mine = static_cast<float>(accuracy(network_, parameters_, data_.test, scale_));
    std::vector<float> all(static_cast<std::size_t>(communicator_.size()));
    communicator_.all_gather(std::span(&mine, 1), all);
    const auto images = static_cast<double>(data_.test.count());
    for (const float share : all) {
      // A share is a whole number of images; back to its double, which prints as 0.8731 and not as its nearest float.
      summary_.test_accuracy.push_back(std::round(static_cast<double>(share) * images) / images);
    }
    summary_.reduce = name(options_.reduce);
    summary_.interrupted = summary_.steps < steps_;
    summary_.seconds = computing_seconds_ + summary_.communication_seconds;
    if (measured_steps_ > 0) {
      summary_.gradient_error_mean = error_sum_ / static_cast<double>(measured_steps_);
    }
    if (reporter_ != nullptr) {
      reporter_->summary(summary_);
    }
    // A rank that leaves may take the others' processes down with it (the launcher ends a group whose member fails, and
    // an interrupted run counts as failed): nobody leaves before rank 0 has saved the results.
    communicator_.barrier();
  }

  [[nodiscard]] TrainHeader make_header() const {
    TrainHeader header;
    header.version = options_.version;
    header.workers = communicator_.size();
    header.reduce = name(options_.reduce);
    if (communicator_.code() && options_.reduce == algorithm_of(*communicator_.code())) {
      const RingCode& code = *communicator_.code();
      header.code = CodeFacts{options_.code_file,      fmt::format("{:016x}", hash(code)),
                              construction_of(code),   shape_of(code).chunks,
                              shape_of(code).rounds(), predicted_relative_error(code)};
    }
    header.steps = steps_;
    header.batch = options_.batch;
    header.optimizer = name(options_.optimizer);
    header.learning_rate = learning_rate_;
    header.seed = options_.seed;
    header.report_error_every = options_.report_error_every;
    header.parameters = options_.network.parameters();
    header.tensor_lengths.assign(tensor_lengths_.begin(), tensor_lengths_.end());
    header.training_images = data_.training.count();
    header.test_images = data_.test.count();
    header.machine = {static_cast<std::int64_t>(std::thread::hardware_concurrency()),
#ifdef __clang__
                      fmt::format("Clang {}", __clang_version__),
#else
                      fmt::format("GCC {}", __VERSION__),
#endif
                      blas_core()};
    return header;
  }

  Communicator& communicator_;
  const FashionMnist& data_;
  const TrainOptions& options_;
  TrainReporter* reporter_;
  PixelScale scale_;
  Shard shard_;
  std::int64_t steps_;
  double learning_rate_;
  Mlp<float> network_;
  std::array<std::int64_t, 4> tensor_lengths_;
  Optimizer optimizer_;
  std::vector<float> parameters_;
  std::vector<float> gradient_;
  TrainDiagnostics diagnostics_;
  Mlp<float>::Batch images_;
  std::vector<std::uint8_t> classes_;
  TrainSummary summary_;
  double computing_seconds_ = 0;
  std::int64_t measured_steps_ = 0;
  double error_sum_ = 0;
};

}  // namespace

void validate(const TrainOptions& options) {
  const auto at_least_one = [](const char* what, std::int64_t value) {
    if (value < 1) {
      throw std::invalid_argument(fmt::format("{} is {}, expected at least 1", what, value));
    }
  };
  if (options.steps && options.epochs) {
    throw std::invalid_argument("steps and epochs are both given; give one of them");
  }
  at_least_one("steps", options.steps.value_or(1));
  at_least_one("epochs", options.epochs.value_or(1));
  at_least_one("batch", options.batch);
  if (options.report_error_every < 0) {
    throw std::invalid_argument(fmt::format("report-error-every is {}, expected a number of steps, or 0 for never",
                                            options.report_error_every));
  }
  if (options.measure_covariance && options.report_error_every == 0) {
    throw std::invalid_argument(
        "report-error-every is 0, so that no gradients are measured and their covariance can't be told; take at least "
        "1");
  }
  if (options.learning_rate && !(*options.learning_rate > 0 && std::isfinite(*options.learning_rate))) {
    throw std::invalid_argument(fmt::format("learning rate is {}, expected a number above 0", *options.learning_rate));
  }
}

TrainResult train(Communicator& communicator, const FashionMnist& data, const TrainOptions& options,
                  TrainReporter* reporter) {
  validate(options);
  const bool needs_code = options.reduce == Algorithm::coded || options.reduce == Algorithm::piggyback;
  if (needs_code && (!communicator.code() || algorithm_of(*communicator.code()) != options.reduce)) {
    throw std::invalid_argument(
        fmt::format("reduce is {} but no code for it is given; make one with cerar fit", name(options.reduce)));
  }
  if (data.training.pixels != options.network.inputs || data.test.pixels != options.network.inputs) {
    throw std::invalid_argument(fmt::format("the images have {} and {} pixels but the network {} inputs",
                                            data.training.pixels, data.test.pixels, options.network.inputs));
  }
  use_one_blas_thread();
  check_blas();
  return Trainer(communicator, data, options, reporter).run();
}

}  // namespace cerar
