#include "coding/code.h"

#include "tests/coding/support.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace cerar {
namespace {

TEST_CASE("the paper's shapes: rounds, rate and conditioning exponent") {
  const RingShape example{4, 5};
  CHECK(example.rounds() == 7);
  CHECK(example.rate() == doctest::Approx(1.4));
  CHECK(example.conditioning_exponent() == 1);
  CHECK(RingShape{8, 20}.rounds() == 26);
  CHECK(RingShape{4, 12}.rounds() == 14);
  CHECK(RingShape{4, 12}.conditioning_exponent() == 2);
  CHECK(RingShape{4, 4}.conditioning_exponent() == 0);
  CHECK(RingShape{8, 8}.rate() == doctest::Approx(1.75));  // the exact ring's 2 (N - 1) / N
  CHECK(RingShape{1, 1}.rounds() == 0);
}

TEST_CASE("wrap numbers workers round the ring in both directions") {
  CHECK(wrap(-1, 4) == 3);
  CHECK(wrap(4, 4) == 0);
  CHECK(wrap(-9, 4) == 3);
  CHECK(wrap(5, 1) == 0);
}

TEST_CASE("a shape is refused with the number that is wrong") {
  CHECK_THROWS_WITH_AS(validate(RingShape{0, 4}), doctest::Contains("workers is 0"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(validate(RingShape{-3, 4}), doctest::Contains("workers is -3"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(validate(RingShape{4, 3}), doctest::Contains("chunks is 3 with 4 workers"),
                       std::invalid_argument);
  CHECK_NOTHROW(validate(RingShape{1, 1}));
}

TEST_CASE("kept counts the vectors of each decoder") {
  CHECK(test::integer_code({4, 12}, Decoder::own_exact, 1, 1).kept() == 14);
  CHECK(test::integer_code({4, 12}, Decoder::own_exact, 3, 1).kept() == 12);
  CHECK(test::integer_code({4, 12}, Decoder::paper, 3, 1).kept() == 12);
  CHECK(test::integer_code({1, 1}, Decoder::own_exact, 1, 1).kept() == 0);
}

TEST_CASE("validation names the matrix and the place") {
  const Code good = test::integer_code({3, 5}, Decoder::own_exact, 1, 7);
  CHECK_NOTHROW(validate(good));
  Code code = good;
  code.encoders.pop_back();
  CHECK_THROWS_WITH(validate(code), doctest::Contains("U has 2 matrices"));
  code = good;
  code.decoders[1] = Eigen::MatrixXd::Zero(2, 5);
  CHECK_THROWS_WITH(validate(code), doctest::Contains("R[1] is 2 x 5; this code's shape needs 6 x 5"));
  code = good;
  code.encoders[2](4, 3) = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(validate(code), doctest::Contains("U[2][4][3]"));
  code = good;
  code.decoders[0](0, 0) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(validate(code), doctest::Contains("R[0][0][0]"));
  code = good;
  code.first_kept_round = 3;
  CHECK_THROWS_WITH(validate(code), doctest::Contains("first_kept_round is 3"));
  code.first_kept_round = 0;
  CHECK_THROWS_WITH(validate(code), doctest::Contains("first_kept_round is 0"));
  CHECK_THROWS_WITH(validate(test::integer_code({3, 5}, Decoder::paper, 1, 7)), doctest::Contains("first_kept_round"));
  CHECK_THROWS_WITH(validate(test::integer_code({1, 2}, Decoder::paper, 1, 7)),
                    doctest::Contains("at least 2 workers"));
}

TEST_CASE("the hash covers what changes a result, and nothing else") {
  const Code code = test::integer_code({3, 5}, Decoder::own_exact, 1, 7);
  const std::uint64_t before = hash(code);
  CHECK(before == hash(test::integer_code({3, 5}, Decoder::own_exact, 1, 7)));
  Code other = code;
  other.construction.name = "another name";
  other.predicted_relative_error = 1;
  other.noise.eta = 1;
  CHECK(hash(other) == before);
  other = code;
  other.encoders[2](6 - 1, 4) = std::nextafter(other.encoders[2](6 - 1, 4), 10.0);
  CHECK(hash(other) != before);
  other = code;
  other.decoders[0](0, 1) += 1;
  CHECK(hash(other) != before);
  other = code;
  std::swap(other.encoders[0], other.encoders[1]);
  CHECK(hash(other) != before);
  other = code;
  other.encoders[0](0, 0) = 0.0;
  const std::uint64_t zero = hash(other);
  other.encoders[0](0, 0) = -0.0;
  CHECK(hash(other) == zero);
}

TEST_CASE("the hash is the same on every machine: a fixed value") {
  Code code;
  code.shape = {1, 2};
  code.encoders = {Eigen::MatrixXd::Constant(1, 2, 0.5)};
  code.decoders = {Eigen::MatrixXd::Constant(1, 2, -3)};
  CHECK(hash(code) == 0xf821463428d81a06ULL);
}

}  // namespace
}  // namespace cerar
