#include "experiments/train.h"

#include "experiments/pixel_scale.h"
#include "experiments/shard.h"
#include "small_data.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace cerar;

namespace {

constexpr MlpShape network{20, 16, 10};

FashionMnist small_data() {
  return {cerar::testing::random_images(300, network.inputs, 1), cerar::testing::random_images(100, network.inputs, 2)};
}

/// Keeps what it is told.
struct Recorder : TrainReporter {
  void header(const TrainHeader& record) override { headers.push_back(record); }
  void step(const TrainStep& record) override { steps.push_back(record); }
  void summary(const TrainSummary& record) override { summaries.push_back(record); }
  std::vector<TrainHeader> headers;
  std::vector<TrainStep> steps;
  std::vector<TrainSummary> summaries;
};

TrainOptions small_options() {
  TrainOptions options;
  options.network = network;
  options.batch = 32;
  options.steps = 25;
  options.seed = 5;
  return options;
}

std::vector<std::int64_t> reported_steps(const Recorder& recorder) {
  std::vector<std::int64_t> numbers;
  for (const TrainStep& step : recorder.steps) {
    numbers.push_back(step.step);
  }
  return numbers;
}

}  // namespace

TEST_CASE("one worker trains to the bit as the plain loop does") {
  const FashionMnist data = small_data();
  const TrainOptions options = small_options();
  Communicator alone{CommunicatorOptions{}};
  Recorder recorder;
  const TrainResult result = train(alone, data, options, &recorder);

  std::vector<float> parameters(static_cast<std::size_t>(network.parameters()));
  std::vector<float> gradient(parameters.size());
  initialise(network, options.seed, parameters);
  Mlp<float> plain(network);
  Shard shard(data.training, 0, 1, options.batch, options.seed);
  const PixelScale scale(data.training);
  Mlp<float>::Batch images;
  std::vector<std::uint8_t> classes;
  double loss = 0;
  for (int step = 0; step < 25; ++step) {
    shard.next(scale, images, classes);
    loss = plain.loss_and_gradient(parameters, images, classes, gradient);
    const auto rate = static_cast<float>(0.2 * (1 - step / 25.0));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] -= rate * gradient[i];
    }
  }
  CHECK(result.parameters == parameters);
  CHECK(recorder.steps.back().loss == doctest::Approx(loss).epsilon(1e-6));
  CHECK(result.summary.test_accuracy == std::vector<double>{accuracy(plain, parameters, data.test, scale)});
  CHECK(result.summary.test_accuracy[0] > 0.5);  // ten classes: guessing gives 0.1
  CHECK(result.summary.gradient_error_max == 0);
  CHECK(result.summary.wire_bytes == 0);
}

TEST_CASE("the records come in order and say what was asked for") {
  const FashionMnist data = small_data();
  TrainOptions options = small_options();
  options.report_error_every = 10;
  options.version = "1.2.3";
  Communicator alone{CommunicatorOptions{}};
  Recorder recorder;
  train(alone, data, options, &recorder);
  REQUIRE(recorder.headers.size() == 1);
  CHECK(recorder.headers[0].version == "1.2.3");
  CHECK(recorder.headers[0].steps == 25);
  CHECK(recorder.headers[0].learning_rate == 0.2);
  CHECK(recorder.headers[0].parameters == network.parameters());
  CHECK(recorder.headers[0].tensor_lengths == std::vector<std::int64_t>{320, 16, 160, 10});
  CHECK_FALSE(recorder.headers[0].code.has_value());
  CHECK(reported_steps(recorder) == std::vector<std::int64_t>{1, 10, 20, 25});
  REQUIRE(recorder.summaries.size() == 1);
  CHECK_FALSE(recorder.summaries[0].interrupted);
  CHECK(recorder.summaries[0].steps == 25);
}

TEST_CASE("without error reports the loss is reported and nothing is measured") {
  TrainOptions options = small_options();
  options.report_error_every = 0;
  Communicator alone{CommunicatorOptions{}};
  Recorder recorder;
  const TrainResult result = train(alone, small_data(), options, &recorder);
  CHECK(reported_steps(recorder) == std::vector<std::int64_t>{1, 10, 20, 25});
  CHECK_FALSE(recorder.steps[0].gradient_error.has_value());
  CHECK_FALSE(result.summary.gradient_error_max.has_value());
  CHECK_FALSE(result.summary.replica_divergence.has_value());
}

TEST_CASE("epochs are passes over the shard in whole batches") {
  TrainOptions options = small_options();
  options.steps.reset();
  options.epochs = 2;
  Communicator alone{CommunicatorOptions{}};
  CHECK(train(alone, small_data(), options, nullptr).summary.steps == 18);  // 2 x floor(300 / 32)
}

TEST_CASE("a request to stop ends the run soon, with what was measured") {
  TrainOptions options = small_options();
  options.steps = 1000000;
  options.report_error_every = 7;
  int questions = 0;
  options.stop_requested = [&] { return ++questions == 4; };
  Communicator alone{CommunicatorOptions{}};
  Recorder recorder;
  const TrainResult result = train(alone, small_data(), options, &recorder);
  CHECK(result.summary.interrupted);
  CHECK(result.summary.steps == 14);  // asked at 1, 7, 10 and 14
  CHECK(recorder.summaries.size() == 1);
  CHECK(result.summary.test_accuracy.size() == 1);
}

TEST_CASE("options out of range are refused with their value") {
  const auto refused = [](auto change, const char* part) {
    TrainOptions options;
    change(options);
    CHECK_THROWS_WITH_AS(validate(options), doctest::Contains(part), std::invalid_argument);
  };
  CHECK_NOTHROW(validate(TrainOptions{}));
  refused([](TrainOptions& options) { options.steps = 0; }, "steps is 0");
  refused([](TrainOptions& options) { options.steps = -5; }, "steps is -5");
  refused([](TrainOptions& options) { options.epochs = 0; }, "epochs is 0");
  refused([](TrainOptions& options) { options.batch = -1; }, "batch is -1");
  refused([](TrainOptions& options) { options.report_error_every = -1; }, "report-error-every is -1");
  refused([](TrainOptions& options) { options.learning_rate = 0; }, "learning rate is 0");
  refused(
      [](TrainOptions& options) {
        options.steps = 1;
        options.epochs = 1;
      },
      "both");
  Communicator alone{CommunicatorOptions{}};
  TrainOptions options = small_options();
  options.reduce = Algorithm::coded;
  CHECK_THROWS_WITH_AS(train(alone, small_data(), options, nullptr), doctest::Contains("no code"),
                       std::invalid_argument);
  options = small_options();
  options.network = {};
  CHECK_THROWS_WITH_AS(train(alone, small_data(), options, nullptr), doctest::Contains("20"), std::invalid_argument);
}

TEST_CASE("a rate that makes training diverge ends in an error, not in numbers") {
  TrainOptions options = small_options();
  options.learning_rate = 1e30;
  Communicator alone{CommunicatorOptions{}};
  CHECK_THROWS_AS(train(alone, small_data(), options, nullptr), RingError);
}
