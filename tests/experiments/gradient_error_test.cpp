#include "experiments/gradient_error.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

using namespace cerar;

TEST_CASE("the gradient error is relative to the double-precision sum, in all and for the worst tensor") {
  // Two workers, tensors of 2 and 1 values; sums (3, 4) and (0.5).
  const std::vector<float> gradients{1, 5, 0.25F, 2, -1, 0.25F};
  const std::vector<std::int64_t> lengths{2, 1};
  CHECK(gradient_error(std::vector<float>{3, 4, 0.5F}, gradients, lengths).total == 0);
  const GradientError error = gradient_error(std::vector<float>{3, 4, 0.75F}, gradients, lengths);
  CHECK(error.total == doctest::Approx(0.25 / std::sqrt(25.25)));
  CHECK(error.worst_tensor == doctest::Approx(0.5));
}

TEST_CASE("the sum is made in double: what float would lose counts") {
  const std::vector<float> gradients{1.0F, 0x1p-30F};
  const std::vector<std::int64_t> lengths{1};
  CHECK(gradient_error(std::vector<float>{1.0F}, gradients, lengths).total == doctest::Approx(0x1p-30));
}

TEST_CASE("a tensor whose true sum is zero counts relative to the whole gradient") {
  const std::vector<float> gradients{3, 1, 0, -1};
  const std::vector<std::int64_t> lengths{1, 1};
  CHECK(gradient_error(std::vector<float>{3, 0}, gradients, lengths).worst_tensor == 0);
  CHECK(gradient_error(std::vector<float>{3, 0.3F}, gradients, lengths).worst_tensor == doctest::Approx(0.1));
  const std::vector<float> cancelling{1, 1, -1, -1};
  CHECK(gradient_error(std::vector<float>{0, 0}, cancelling, lengths).total == 0);
  CHECK(std::isinf(gradient_error(std::vector<float>{0, 1}, cancelling, lengths).total));
}

TEST_CASE("lengths that do not fit are refused") {
  const std::vector<float> gradients{1, 2, 3, 4};
  CHECK_THROWS_AS((void)gradient_error(std::vector<float>{1, 2}, gradients, std::vector<std::int64_t>{1}),
                  std::invalid_argument);
  CHECK_THROWS_AS((void)gradient_error(std::vector<float>{1, 2, 3}, gradients, std::vector<std::int64_t>{3}),
                  std::invalid_argument);
  CHECK_THROWS_AS((void)replica_divergence(gradients, 3), std::invalid_argument);
}

TEST_CASE("replica divergence is the largest distance from replica 0, relative to it") {
  CHECK(replica_divergence(std::vector<float>{3, 4, 3, 4}, 2) == 0);
  CHECK(replica_divergence(std::vector<float>{3, 4, 3, 4.5F, 2, 4}, 3) == doctest::Approx(0.2));
  CHECK(replica_divergence(std::vector<float>{0, 0, 0, 0}, 2) == 0);
  CHECK(replica_divergence(std::vector<float>{1, 2}, 1) == 0);
}
