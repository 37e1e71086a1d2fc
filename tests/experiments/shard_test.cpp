#include "experiments/shard.h"

#include "experiments/optimizer.h"
#include "experiments/pixel_scale.h"
#include "small_data.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

using namespace cerar;

namespace {

/// Image i is the two bytes of i, so that a batch tells which images it holds.
LabelledImages numbered_images(std::int64_t count) {
  LabelledImages data;
  data.pixels = 2;
  for (std::int64_t i = 0; i < count; ++i) {
    data.images.push_back(static_cast<std::uint8_t>(i / 256));
    data.images.push_back(static_cast<std::uint8_t>(i % 256));
    data.classes.push_back(static_cast<std::uint8_t>(i % 10));
  }
  return data;
}

}  // namespace

TEST_CASE("workers draw every image of their own part once an epoch, in an order that the seed fixes") {
  const LabelledImages data = numbered_images(1003);
  const PixelScale scale(data);
  std::map<std::pair<float, float>, int> seen;
  for (std::int64_t worker = 0; worker < 4; ++worker) {
    Shard shard(data, worker, 4, 50, 7);
    Shard twin(data, worker, 4, 50, 7);
    Shard other_seed(data, worker, 4, 50, 8);
    CHECK(shard.size() == 250);
    CHECK(shard.steps_per_epoch() == 5);
    Mlp<float>::Batch images;
    Mlp<float>::Batch again;
    std::vector<std::uint8_t> classes;
    for (int step = 0; step < 5; ++step) {
      shard.next(scale, images, classes);
      twin.next(scale, again, classes);
      CHECK(images == again);
      other_seed.next(scale, again, classes);
      CHECK(images != again);
      for (Eigen::Index row = 0; row < images.rows(); ++row) {
        ++seen[{images(row, 0), images(row, 1)}];
      }
    }
    // The second epoch: the same images in another order.
    Mlp<float>::Batch first = images;
    shard.next(scale, images, classes);
    CHECK(first != images);
    CHECK(seen.contains({images(0, 0), images(0, 1)}));
  }
  CHECK(seen.size() == 1000);
  for (const auto& [image, count] : seen) {
    CHECK(count == 1);
  }
}

TEST_CASE("a shard that is too small or does not exist is refused with the numbers") {
  const LabelledImages data = numbered_images(100);
  CHECK_THROWS_WITH_AS(Shard(data, 0, 4, 26, 1),
                       doctest::Contains("batch is 26 images, but each of 4 workers has only 25 of the 100"),
                       std::invalid_argument);
  CHECK_THROWS_AS(Shard(data, 4, 4, 1, 1), std::invalid_argument);
  CHECK_THROWS_AS(Shard(data, 0, 4, 0, 1), std::invalid_argument);
}

TEST_CASE("scaled training images have mean zero in every pixel and variance one in all") {
  const LabelledImages data = cerar::testing::random_images(400, 30, 3);
  const PixelScale scale(data);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < data.count(); ++i) {
    all.push_back(i);
  }
  Mlp<float>::Batch images;
  scale.apply(data, all, images);
  CHECK(images.colwise().mean().cwiseAbs().maxCoeff() < 1e-5F);
  CHECK(images.squaredNorm() / static_cast<float>(images.size()) == doctest::Approx(1.0).epsilon(1e-5));
  LabelledImages constant{2, {5, 6, 5, 6}, {0, 1}};
  PixelScale(constant).apply(constant, {0, 1}, images);
  CHECK(images.isZero());
}

TEST_CASE("optimizers do what their formulas say") {
  std::vector<float> parameters{1, -2};
  Optimizer sgd(OptimizerKind::sgd, 2);
  sgd.update(parameters, std::vector<float>{0.5F, 4}, 0.25);
  CHECK(parameters == std::vector<float>{0.875F, -3});

  // Adam by its formulas in double, three steps.
  parameters = {1, -2};
  Optimizer adam(OptimizerKind::adam, 2);
  double w = 1;
  double m = 0;
  double v = 0;
  for (int t = 1; t <= 3; ++t) {
    const double g = 0.3 * t;
    adam.update(parameters, std::vector<float>{static_cast<float>(g), 0}, 0.01);
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    w -= 0.01 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
  }
  CHECK(static_cast<double>(parameters[0]) == doctest::Approx(w).epsilon(1e-6));
  CHECK(parameters[1] == -2);
  CHECK(optimizer_from_name("adam") == OptimizerKind::adam);
  CHECK_THROWS_AS((void)optimizer_from_name("lion"), std::invalid_argument);
}
