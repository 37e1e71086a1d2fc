#include "experiments/gradient_covariance.h"

#include "coding/covariance.h"
#include "coding/error.h"

#include <doctest/doctest.h>

#include <random>
#include <stdexcept>
#include <vector>

namespace cerar {
namespace {

constexpr std::uint64_t seed = 41;

std::vector<float> normal_values(std::size_t count) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(engine);
  }
  return values;
}

TEST_CASE("independent gradients of equal strength have about the identity") {
  MESSAGE("seed ", seed);
  GradientCovariance covariance(4);
  covariance.add(normal_values(4 * 40'000));
  const Eigen::MatrixXd scaled = covariance.scaled();
  CHECK(scaled.trace() == doctest::Approx(4).epsilon(1e-12));
  CHECK(scaled == scaled.transpose());
  CHECK((scaled - Eigen::MatrixXd::Identity(4, 4)).cwiseAbs().maxCoeff() < 0.03);
  CHECK_NOTHROW(validate_covariance(scaled, 4));
}

TEST_CASE("identical gradients have ones everywhere, which no code can be fitted for") {
  GradientCovariance covariance(3);
  const std::vector<float> one = normal_values(1000);
  std::vector<float> all;
  for (int worker = 0; worker < 3; ++worker) {
    all.insert(all.end(), one.begin(), one.end());
  }
  covariance.add(all);
  const Eigen::MatrixXd scaled = covariance.scaled();
  CHECK((scaled - Eigen::MatrixXd::Ones(3, 3)).cwiseAbs().maxCoeff() < 1e-14);
  CHECK(mean_correlation(scaled) == doctest::Approx(1));
  CHECK_THROWS_WITH_AS(validate_covariance(scaled, 3), doctest::Contains("not positive definite"),
                       std::invalid_argument);
}

TEST_CASE("steps add up: what is measured is the mean of the products") {
  GradientCovariance covariance(2);
  covariance.add(std::vector<float>{1, 2, 3, /* worker 1 */ 2, 0, -1});
  covariance.add(std::vector<float>{0, 1, 0, /* worker 1 */ 1, 1, 1});
  // Products: 14 + 1, 2 - 3 + 1, 5 + 3; of the trace 23 half is one unit.
  Eigen::MatrixXd expected(2, 2);
  expected << 15, 0, 0, 8;
  CHECK(covariance.scaled().isApprox(expected / 11.5, 1e-14));
}

TEST_CASE("nothing, zeros and lengths that don't fit are refused") {
  GradientCovariance covariance(2);
  CHECK_THROWS_WITH_AS(static_cast<void>(covariance.scaled()), doctest::Contains("none was measured"), Error);
  covariance.add(std::vector<float>(6, 0.0F));
  CHECK_THROWS_AS(static_cast<void>(covariance.scaled()), Error);
  CHECK_THROWS_AS(covariance.add(std::vector<float>(5, 1.0F)), std::invalid_argument);
}

}  // namespace
}  // namespace cerar
