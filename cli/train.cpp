#include "experiments/train.h"

#include "cli/commands.h"
#include "cli/ring_place.h"
#include "cli/train_console.h"
#include "coding/atomic_file.h"
#include "coding/covariance.h"
#include "collective/communicator.h"
#include "experiments/shard.h"
#include "experiments/train_file.h"
#include "version.h"

#include <fmt/core.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cerar::cli {
namespace {

/// 128 + SIGINT, what a shell reports for a program that Ctrl-C ended.
constexpr int interrupted_status = 130;

struct Arguments {
  TrainOptions train;
  std::optional<std::int64_t> workers;
  std::string reduce;
  std::string code_file;
  std::int64_t seed = 1;
  std::string optimizer = "sgd";
  std::string data_directory = default_fashion_mnist_directory;
  std::string json_file;
  std::string covariance_file;
};

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void request_stop(int /*signal*/) { stop_requested = true; }

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

/// Passes each record on to several reporters.
class Reporters : public TrainReporter {
 public:
  void add(TrainReporter& reporter) { reporters_.push_back(&reporter); }
  void header(const TrainHeader& record) override {
    for (TrainReporter* reporter : reporters_) {
      reporter->header(record);
    }
  }
  void step(const TrainStep& record) override {
    for (TrainReporter* reporter : reporters_) {
      reporter->step(record);
    }
  }
  void summary(const TrainSummary& record) override {
    for (TrainReporter* reporter : reporters_) {
      reporter->summary(record);
    }
  }

 private:
  std::vector<TrainReporter*> reporters_;
};

/// Fills in what follows from the other arguments, and checks what can be checked without a ring.
void complete(Arguments& arguments, CommunicatorOptions& ring) {
  TrainOptions& train = arguments.train;
  train.optimizer = optimizer_from_name(arguments.optimizer);
  if (!arguments.code_file.empty()) {
    ring.code = read_code_for(arguments.code_file, ring.size);
  }
  train.reduce = !arguments.reduce.empty() ? algorithm_from_name(arguments.reduce)
                 : ring.code               ? algorithm_of(*ring.code)
                                           : Algorithm::exact;
  require_code_for(train.reduce, ring.code);
  if (arguments.seed < 0) {  // read as a signed number: an unsigned one would take -1 for 2^64 - 1
    throw std::invalid_argument(fmt::format("--seed is {}, expected at least 0", arguments.seed));
  }
  train.seed = static_cast<std::uint64_t>(arguments.seed);
  train.code_file = arguments.code_file;
  train.measure_covariance = !arguments.covariance_file.empty();
  train.version = CERAR_VERSION;
  train.stop_requested = [] { return stop_requested.load(); };
  validate(train);
}

void train_as_rank(const Arguments& arguments, const CommunicatorOptions& ring, const FashionMnist& data) {
  Communicator communicator(ring);
  stop_on_signals();
  std::optional<TrainFileReporter> file;
  std::optional<TrainConsole> console;
  Reporters reporters;
  if (communicator.rank() == 0) {
    if (!arguments.json_file.empty()) {
      reporters.add(file.emplace(arguments.json_file));
    }
    reporters.add(console.emplace());
  }
  TrainResult result;
  try {
    result = train(communicator, data, arguments.train, &reporters);
  } catch (...) {
    console.reset();
    if (file && file->file().unfinished()) {
      fmt::print(stderr, "cerar: the records until then are in {}\n", file->file().partial_path().string());
    }
    throw;
  }
  if (file) {
    fmt::print("records: {}\n", arguments.json_file);
  }
  if (arguments.train.measure_covariance) {
    if (communicator.rank() == 0) {
      write_covariance(result.covariance, arguments.covariance_file);
      fmt::print("covariance of the workers' gradients: {}, mean correlation {:.3g}\n", arguments.covariance_file,
                 mean_correlation(result.covariance));
    }
    communicator.barrier();  // who leaves an interrupted run takes rank 0 down with it
  }
  if (result.summary.interrupted) {
    throw ExitStatus{interrupted_status};
  }
}

void run(Arguments& arguments) {
  if (arguments.workers.value_or(1) < 1) {
    throw std::invalid_argument(fmt::format("--workers is {}, expected at least 1", *arguments.workers));
  }
  RingPlace place = ring_place(arguments.workers);
  CommunicatorOptions& ring = place.options;
  complete(arguments, ring);
  for (const std::string& file : {arguments.json_file, arguments.covariance_file}) {
    if (!file.empty() && ring.rank == 0) {
      require_writable(file);
    }
  }
  {
    const FashionMnist data = read_fashion_mnist(arguments.data_directory);
    if (place.is_launched || ring.size == 1) {
      train_as_rank(arguments, ring, data);
      return;
    }
    // Only to find out here, once and not in every worker, whether the shards will do.
    const Shard shard(data.training, 0, ring.size, arguments.train.batch, arguments.train.seed);
  }
  throw ExitStatus{run_as_group(ring.size)};
}

}  // namespace

void add_train(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  TrainOptions& train = arguments->train;
  CLI::App* command =
      app.add_subcommand("train", "Train a network on Fashion-MNIST, summing its gradients over the ring");
  command->add_option("-n,--workers", arguments->workers,
                      "Start this many local workers; without it, train as the rank in the environment, or alone");
  command->add_option("--code", arguments->code_file, "Code file of cerar fit, for the same number of workers");
  command
      ->add_option("--reduce", arguments->reduce,
                   "How gradients are summed (default: as the code of --code says, else exact)")
      ->check(CLI::IsMember({"exact", "coded", "naive", "piggyback"}));
  CLI::Option* steps = command->add_option("--steps", train.steps, "Updates to make (default: 1000)");
  command->add_option("--epochs", train.epochs, "Passes over the training images instead of --steps")->excludes(steps);
  command->add_option("--batch", train.batch, "Images per worker and step")->capture_default_str();
  command->add_option("--optimizer", arguments->optimizer, "sgd or adam (beta 0.9 and 0.999, epsilon 1e-8)")
      ->check(CLI::IsMember({"sgd", "adam"}))
      ->capture_default_str();
  command->add_option("--learning-rate", train.learning_rate,
                      "Of the first step, falling linearly to zero (default: 0.2 for sgd, 0.001 for adam)");
  command->add_option("--seed", arguments->seed, "Of the initialisation, the shards and the order of images")
      ->capture_default_str();
  command
      ->add_option("--report-error-every", train.report_error_every,
                   "Measure the gradient's error every K steps (0: never)")
      ->capture_default_str();
  command->add_option("--data", arguments->data_directory, "Folder of the four Fashion-MNIST files")
      ->capture_default_str();
  command->add_option("--json", arguments->json_file, "Write the records to this file, as JSON Lines");
  command->add_option("--dump-covariance", arguments->covariance_file,
                      "Write the covariance between the workers' gradients, in the steps where errors are measured, to "
                      "this file: N lines of N numbers, for cerar fit --covariance");
  command->footer(
      "The network is 784-256-10 with 203,530 parameters. Every worker starts from the same parameters and trains on "
      "its\n"
      "own shard; errors are measured against the exact sum of the same gradients.\n"
      "Example: cerar fit --workers 4 --chunks 12 -o code.json && cerar train --workers 4 --code code.json --json "
      "coded.jsonl");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
