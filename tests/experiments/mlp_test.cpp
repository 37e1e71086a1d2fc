#include "experiments/mlp.h"

#include "coding/error.h"
#include "experiments/blas.h"
#include "experiments/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

using namespace cerar;

namespace {

constexpr MlpShape small{7, 6, 4};
constexpr std::int64_t batch = 9;

std::vector<double> random_values(std::int64_t count, std::uint64_t seed) {
  PortableRandom random(seed);
  std::vector<double> values(static_cast<std::size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return 2 * random.uniform() - 1; });
  return values;
}

struct Problem {
  std::vector<double> parameters;
  Mlp<double>::Batch images;
  std::vector<std::uint8_t> classes;
};

Problem random_problem(std::uint64_t seed) {
  Problem problem{random_values(small.parameters(), seed), Mlp<double>::Batch(batch, small.inputs), {}};
  const std::vector<double> pixels = random_values(batch * small.inputs, seed + 1000);
  std::copy(pixels.begin(), pixels.end(), problem.images.data());
  PortableRandom random(seed + 2000);
  for (std::int64_t image = 0; image < batch; ++image) {
    problem.classes.push_back(static_cast<std::uint8_t>(random.below(static_cast<std::uint64_t>(small.classes))));
  }
  return problem;
}

}  // namespace

TEST_CASE("784-256-10 has 203,530 parameters in four tensors") {
  const MlpShape shape;
  const auto lengths = shape.tensor_lengths();
  CHECK(shape.parameters() == 203530);
  CHECK(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == shape.parameters());
}

TEST_CASE("the gradient agrees with central differences in double, for every parameter") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    CAPTURE(seed);
    Problem problem = random_problem(seed);
    Mlp<double> network(small);
    std::vector<double> gradient(problem.parameters.size(), NAN);
    std::vector<double> unused(gradient.size());
    network.loss_and_gradient(problem.parameters, problem.images, problem.classes, gradient);
    // Third-order truncation and rounding are both near 1e-10 at this step; a ReLU's kink within it has odds of 1e-4.
    constexpr double step = 1e-5;
    double largest = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double at = problem.parameters[i];
      problem.parameters[i] = at + step;
      const double above = network.loss_and_gradient(problem.parameters, problem.images, problem.classes, unused);
      problem.parameters[i] = at - step;
      const double below = network.loss_and_gradient(problem.parameters, problem.images, problem.classes, unused);
      problem.parameters[i] = at;
      const double difference = std::abs((above - below) / (2 * step) - gradient[i]);
      CHECK_MESSAGE(difference < 1e-8, "parameter ", i, " differs by ", difference);
      largest = std::max(largest, difference);
    }
    MESSAGE("seed ", seed, ": largest difference ", largest);
  }
}

TEST_CASE("float and double agree, and the loss does not overflow") {
  const Problem problem = random_problem(7);
  std::vector<float> parameters(problem.parameters.begin(), problem.parameters.end());
  const Mlp<float>::Batch images = problem.images.cast<float>();
  std::vector<double> exact(parameters.size());
  std::vector<float> gradient(parameters.size());
  const double exact_loss =
      Mlp<double>(small).loss_and_gradient(problem.parameters, problem.images, problem.classes, exact);
  const double loss = Mlp<float>(small).loss_and_gradient(parameters, images, problem.classes, gradient);
  CHECK(loss == doctest::Approx(exact_loss).epsilon(1e-6));
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    CHECK(std::abs(static_cast<double>(gradient[i]) - exact[i]) < 1e-6);
  }
  std::fill(parameters.begin(), parameters.end(), 1e3F);
  CHECK(std::isfinite(Mlp<float>(small).loss_and_gradient(parameters, images, problem.classes, gradient)));
}

TEST_CASE("counting right answers") {
  // No weights and a bias for class 2: every image is called 2.
  std::vector<float> parameters(static_cast<std::size_t>(small.parameters()), 0.0F);
  parameters[parameters.size() - 2] = 1.0F;
  const Mlp<float>::Batch images = Mlp<float>::Batch::Ones(4, small.inputs);
  const std::vector<std::uint8_t> classes{2, 1, 2, 0};
  CHECK(Mlp<float>(small).count_correct(parameters, images, classes) == 2);
}

TEST_CASE("the initialisation is the same on every machine, has He's variance and zero biases") {
  const MlpShape shape;
  std::vector<float> parameters(static_cast<std::size_t>(shape.parameters()), NAN);
  initialise(shape, 1, parameters);
  // These bits are what seed 1 gives; a change here changes every published run.
  CHECK(parameters[0] == -0x1.4f70b6p-7F);
  CHECK(parameters[200703] == -0x1.725212p-6F);
  double squares = 0;
  for (std::size_t i = 0; i < 200704; ++i) {
    squares += static_cast<double>(parameters[i]) * static_cast<double>(parameters[i]);
  }
  CHECK(squares / 200704 == doctest::Approx(2.0 / 784).epsilon(0.02));
  CHECK(std::all_of(parameters.begin() + 200704, parameters.begin() + 200960, [](float bias) { return bias == 0; }));
  CHECK(std::all_of(parameters.end() - 10, parameters.end(), [](float bias) { return bias == 0; }));
  std::vector<float> other(parameters.size());
  initialise(shape, 2, other);
  CHECK(other != parameters);
}

TEST_CASE("lengths that do not fit are refused") {
  const Problem problem = random_problem(1);
  Mlp<double> network(small);
  std::vector<double> gradient(problem.parameters.size());
  std::vector<double> short_vector(3);
  CHECK_THROWS_AS(network.loss_and_gradient(short_vector, problem.images, problem.classes, gradient),
                  std::invalid_argument);
  CHECK_THROWS_AS(network.loss_and_gradient(problem.parameters, problem.images, problem.classes, short_vector),
                  std::invalid_argument);
  CHECK_THROWS_AS(
      network.loss_and_gradient(problem.parameters, Mlp<double>::Batch(batch, 3), problem.classes, gradient),
      std::invalid_argument);
  CHECK_THROWS_AS(network.count_correct(problem.parameters, problem.images, std::vector<std::uint8_t>(batch, 4)),
                  std::invalid_argument);
}

TEST_CASE("OpenBLAS passes its self-check on this processor") {
  use_one_blas_thread();
  CHECK_NOTHROW(check_blas());
  CHECK_FALSE(blas_core().empty());
}
