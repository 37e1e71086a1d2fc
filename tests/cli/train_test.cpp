// The program itself, `cerar train`, with real worker processes on a small data set of the same format.
#include "../experiments/small_data.h"
#include "../program.h"
#include "coding/code_file.h"
#include "coding/covariance.h"
#include "collective/communicator.h"
#include "experiments/gradient_covariance.h"
#include "experiments/pixel_scale.h"
#include "experiments/shard.h"
#include "experiments/train_file.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <chrono>
#include <stdexcept>
#include <string>
using namespace cerar;
using cerar::testing::contains;
using cerar::testing::Folder;
using cerar::testing::Outcome;
using cerar::testing::random_images;
using cerar::testing::shell;

namespace {

constexpr std::uint64_t data_seed = 11;

/// A folder with a data set, and the program to run in it.
class Bench {
 public:
  Bench() {
    MESSAGE("seed of the data: ", data_seed);
    cerar::testing::write_data_set(folder / "", data);
  }

  [[nodiscard]] Outcome train(const std::string& arguments) const {
    return cerar::testing::cerar(folder, "train --data . " + arguments);
  }
  [[nodiscard]] Outcome program(const std::string& arguments) const { return cerar::testing::cerar(folder, arguments); }

  const Folder folder;
  const FashionMnist data{random_images(400, 784, data_seed), random_images(100, 784, data_seed + 1)};
};

/// The losses of exact data-parallel training with two workers, emulated in this process.
std::vector<double> emulated_losses(const FashionMnist& data, std::int64_t batch, std::uint64_t seed, int steps) {
  const MlpShape shape;
  std::vector<float> parameters(static_cast<std::size_t>(shape.parameters()));
  initialise(shape, seed, parameters);
  Mlp<float> network(shape);
  std::vector<float> gradient(parameters.size());
  std::vector<double> sum(parameters.size());
  const PixelScale scale(data.training);
  Shard shards[2]{{data.training, 0, 2, batch, seed}, {data.training, 1, 2, batch, seed}};
  Mlp<float>::Batch images;
  std::vector<std::uint8_t> classes;
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    double loss = 0;
    std::fill(sum.begin(), sum.end(), 0.0);
    for (Shard& shard : shards) {
      shard.next(scale, images, classes);
      loss += network.loss_and_gradient(parameters, images, classes, gradient) / 2;
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += static_cast<double>(gradient[i]);
      }
    }
    losses.push_back(loss);
    const double rate = 0.2 * (1 - static_cast<double>(step) / steps);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      parameters[i] -= static_cast<float>(rate * sum[i] / 2);
    }
  }
  return losses;
}

}  // namespace

TEST_CASE("two workers on the exact ring train as one process would") {
  const Bench bench;
  const Outcome outcome =
      bench.train("--workers 2 --steps 12 --batch 32 --report-error-every 1 --seed 4 --json run.jsonl");
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  CHECK(contains(outcome.out, "test accuracy by replica"));
  const TrainRun run = read_train_file((bench.folder / "run.jsonl"));
  CHECK(run.header.workers == 2);
  CHECK(run.header.reduce == "exact");
  CHECK(run.header.parameters == 203530);
  const std::vector<double> losses = emulated_losses(bench.data, 32, 4, 12);
  REQUIRE(run.steps.size() == losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    CAPTURE(i);
    CHECK(run.steps[i].loss == doctest::Approx(losses[i]).epsilon(1e-4));
    CHECK(run.steps[i].gradient_error.value() < 1e-6);
    CHECK(run.steps[i].gradient_error_worst_layer.value() < 1e-5);
    CHECK(run.steps[i].replica_divergence.value() == 0);
    // N = 2 sends 2 (N - 1) / N = 1 value per gradient value, and headers.
    CHECK(run.steps[i].wire_bytes >= 203530 * 4);
    CHECK(run.steps[i].wire_bytes < 203530 * 4 + 1000);
  }
  REQUIRE(run.summary.has_value());
  CHECK(run.summary->test_accuracy.size() == 2);
  CHECK(run.summary->test_accuracy[0] == run.summary->test_accuracy[1]);
  CHECK(run.summary->communication_seconds <= run.summary->seconds);
}

TEST_CASE("a code makes the ring coded, and compare sets the runs side by side") {
  const Bench bench;
  REQUIRE(bench.program("fit --workers 3 --chunks 9 -o code.json").status == 0);
  const std::string settings = " --workers 3 --steps 15 --batch 32 --report-error-every 1 ";
  const Outcome coded = bench.train(settings + "--code code.json --json coded.jsonl");
  INFO(coded.err);
  REQUIRE(coded.status == 0);
  REQUIRE(bench.train(settings + "--json exact.jsonl").status == 0);
  REQUIRE(bench.train(settings + "--reduce naive --json naive.jsonl").status == 0);
  const TrainRun run = read_train_file((bench.folder / "coded.jsonl"));
  CHECK(run.header.reduce == "coded");
  CHECK(run.header.code.value().chunks == 9);
  CHECK(run.header.code.value().file == "code.json");
  for (const TrainStep& step : run.steps) {
    CHECK(step.gradient_error.value() > 1e-7);
    CHECK(step.gradient_error.value() < 1e-3);
    CHECK(step.replica_divergence.value() < 1e-4);
  }
  const Outcome table = bench.program("compare exact.jsonl coded.jsonl naive.jsonl --plot picture.png");
  INFO(table.out);
  CHECK(table.status == 0);
  CHECK(contains(table.out, "coded 3,9"));
  CHECK(std::filesystem::file_size((bench.folder / "picture.png")) > 10000);
  CHECK(bench.program("compare exact.jsonl missing.jsonl").status != 0);
}

TEST_CASE("four workers write the covariance of their gradients, as one process would compute it") {
  const Bench bench;
  const Outcome outcome = bench.train("--workers 4 --steps 1 --batch 32 --seed 4 --dump-covariance c.csv");
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  const Eigen::MatrixXd measured = read_covariance(bench.folder / "c.csv", 4);
  CHECK(contains(outcome.out, fmt::format("c.csv, mean correlation {:.3g}", mean_correlation(measured))));

  const MlpShape shape;
  std::vector<float> parameters(static_cast<std::size_t>(shape.parameters()));
  initialise(shape, 4, parameters);
  Mlp<float> network(shape);
  const PixelScale scale(bench.data.training);
  Mlp<float>::Batch images;
  std::vector<std::uint8_t> classes;
  std::vector<float> all;
  std::vector<float> gradient(parameters.size());
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    Shard shard(bench.data.training, rank, 4, 32, 4);
    shard.next(scale, images, classes);
    network.loss_and_gradient(parameters, images, classes, gradient);
    all.insert(all.end(), gradient.begin(), gradient.end());
  }
  GradientCovariance expected(4);
  expected.add(all);
  CHECK(measured.isApprox(expected.scaled(), 1e-4));
}

TEST_CASE("bad input ends with a sentence before any worker starts") {
  const Bench bench;
  const auto refused = [&](const std::string& arguments, const std::string& part) {
    const Outcome outcome = bench.train(arguments);
    CHECK_MESSAGE(outcome.status != 0, arguments);
    CHECK_MESSAGE(contains(outcome.err, part), arguments, ": ", outcome.err);
    CHECK_MESSAGE(!contains(outcome.err, "worker 1"), arguments, ": ", outcome.err);
  };
  refused("--workers 2 --steps 0", "steps is 0");
  refused("--workers 2 --steps -3", "steps is -3");
  refused("--workers 0", "--workers is 0");
  refused("--workers 2 --seed -1", "--seed is -1");
  refused("--workers 2 --batch 0", "batch is 0");
  refused("--workers 2 --batch 201", "batch is 201 images, but each of 2 workers has only 200");
  refused("--workers 2 --steps 3 --epochs 1", "--epochs");
  refused("--workers 2 --reduce coded", "needs a code");
  refused("--workers 2 --code missing.json", "missing.json");
  refused("--workers 2 --json none/run.jsonl", "cannot be written");
  refused("--workers 2 --json .", "folder");
  refused("--workers 2 --optimizer lion", "lion");
  const Outcome no_data = bench.program("train --workers 2 --data none");
  CHECK(no_data.status != 0);
  CHECK(contains(no_data.err, "dataset-fashion-mnist"));
  REQUIRE(bench.program("fit --workers 3 --chunks 9 -o three.json").status == 0);
  refused("--workers 2 --code three.json", "three.json is a code for 3 workers and this job has 2");
  refused("--workers 2 --dump-covariance none/c.csv", "cannot be written");
  refused("--workers 2 --report-error-every 0 --dump-covariance c.csv", "covariance can't be told");
  CHECK_FALSE(std::filesystem::exists((bench.folder / "run.jsonl")));
  CHECK_FALSE(std::filesystem::exists((bench.folder / "c.csv")));
}

TEST_CASE("codes for words that the coded ring does not send are refused before any worker starts") {
  const Bench bench;
  const Folder& folder = bench.folder;
  REQUIRE(bench.program("fit --workers 2 --chunks 4 -o code.json").status == 0);
  Code code = read_shift_code_file(folder / "code.json");
  code.noise.wire = "i16";
  write_code_file(code, folder / "code.json");
  for (const std::string command : {"train --data . --workers 2 --code code.json",
                                    "bench --workers 2 --sizes 4K --iterations 1 --code code.json"}) {
    const Outcome outcome = bench.program(command);
    CHECK_MESSAGE(outcome.status != 0, command);
    CHECK_MESSAGE(contains(outcome.err, "the code is for i16 words and the coded ring sends float32 words only"),
                  command, ": ", outcome.err);
    CHECK_MESSAGE(!contains(outcome.err, "worker 1"), command, ": ", outcome.err);
  }
  CommunicatorOptions options;
  options.size = 2;
  options.code = code;
  CHECK_THROWS_WITH_AS(Communicator{options}, doctest::Contains("fit one with --wire f32"), std::invalid_argument);
}

TEST_CASE("options that differ between ranks are named") {
  const Bench bench;
  const Outcome outcome =
      shell(bench.folder,
            fmt::format("export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000)) CERAR_SECRET=a\n"
                        "RANK=1 '{0}' train --data . --steps 5 --batch 16 &\n"
                        "RANK=0 '{0}' train --data . --steps 5 --batch 32; wait",
                        CERAR_PROGRAM));
  CHECK(contains(outcome.err, "rank 1 has batch 16 but rank 0 has 32"));
}

TEST_CASE("a signal ends a long run on all ranks, and what was measured is kept") {
  const Bench bench;
  const auto start = std::chrono::steady_clock::now();
  // The signal goes to the program that started the workers, as a terminal's Ctrl-C goes to the foreground job;
  // SIGINT itself is ignored by what a script starts in the background.
  const Outcome outcome =
      shell(bench.folder,
            fmt::format("'{}' train --data . --workers 2 --steps 1000000 --batch 16 --json run.jsonl &\n"
                        "for i in $(seq 200); do sleep 0.1; grep -q '\"step\":20,' run.jsonl.partial && break; done\n"
                        "kill -TERM $!; wait $!",
                        CERAR_PROGRAM));
  INFO(outcome.err);
  CHECK(outcome.status == 130);
  CHECK(contains(outcome.out, "interrupted after step"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
  const TrainRun run = read_train_file((bench.folder / "run.jsonl"));
  REQUIRE(run.summary.has_value());
  CHECK(run.summary->interrupted);
  CHECK(run.summary->steps >= 20);
  CHECK(run.summary->test_accuracy.size() == 2);
}
