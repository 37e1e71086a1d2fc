#include "coding/piggyback.h"

#include "coding/piggyback_reference.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace cerar {

namespace {

constexpr std::uint64_t kSeed = 20261130;
constexpr double kEta = 2.53e-8;  // float32: wire_eta("f32") of coding/wire.h

/// Normal gradients with correlation rho between the workers, group g scaled by scale[g mod its size].
template <class Scalar>
std::vector<Matrix<Scalar>> gradients(const RingShape& shape, Eigen::Index values, double rho,
                                      const std::vector<double>& scale = {1}) {
  std::mt19937_64 generator(kSeed);
  std::normal_distribution<double> normal;
  const auto draw = [&] {
    return Matrix<double>::NullaryExpr(values, shape.chunks, [&] { return normal(generator); }).eval();
  };
  const Matrix<double> common = draw();
  std::vector<Matrix<Scalar>> result;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    Matrix<double> gradient = std::sqrt(1 - rho) * draw() + std::sqrt(rho) * common;
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      gradient.col(chunk) *= scale[static_cast<std::size_t>(chunk / shape.workers) % scale.size()];
    }
    result.push_back(gradient.template cast<Scalar>());
  }
  return result;
}

template <class Scalar>
Matrix<double> true_sum(const std::vector<Matrix<Scalar>>& all) {
  Matrix<double> sum = Matrix<double>::Zero(all[0].rows(), all[0].cols());
  for (const Matrix<Scalar>& gradient : all) {
    sum += gradient.template cast<double>();
  }
  return sum;
}

/// Relative error of the columns [first, first + count), rms over the workers.
template <class Scalar>
double relative_error(const std::vector<Matrix<Scalar>>& results, const Matrix<double>& sum, Eigen::Index first,
                      Eigen::Index count) {
  double error = 0;
  for (const Matrix<Scalar>& result : results) {
    error += (result.template cast<double>() - sum).middleCols(first, count).squaredNorm();
  }
  return std::sqrt(error / static_cast<double>(results.size()) / sum.middleCols(first, count).squaredNorm());
}

template <class Scalar>
double relative_error(const std::vector<Matrix<Scalar>>& results, const Matrix<double>& sum) {
  return relative_error(results, sum, 0, sum.cols());
}

}  // namespace

TEST_CASE("piggyback in float32: the errors to reach, and the prediction within ten percent") {
  MESSAGE("seed " << kSeed);
  struct Goal {
    std::int64_t workers, chunks;
    double rho, most;
  };
  for (const Goal& goal :
       {Goal{3, 12, 0, 0.78e-4}, Goal{4, 12, 0, 0.96e-4}, Goal{4, 32, 0, 1.10e-4}, Goal{4, 128, 0, 1.16e-4},
        Goal{5, 30, 0, 1.24e-4}, Goal{8, 24, 0, 1.42e-4}, Goal{8, 64, 0, 1.62e-4}, Goal{16, 64, 0, 2.04e-4},
        Goal{4, 16, 0.9, 0.42e-4}, Goal{8, 64, 0.9, 0.56e-4}}) {
    CAPTURE(goal.workers);
    CAPTURE(goal.chunks);
    const RingShape shape{goal.workers, goal.chunks};
    const PiggybackCode code = make_piggyback_code(shape, {.wire = "f32", .eta = kEta, .correlation = goal.rho});
    const auto all = gradients<float>(shape, 240000 / goal.chunks, goal.rho);
    for (const int sign : {1, -1}) {
      const double error = relative_error(piggyback_reference<float>(code, all, sign), true_sum(all));
      CHECK(error <= goal.most);
      CHECK(error == doctest::Approx(code.predicted_relative_error).epsilon(0.10).scale(0));
    }
  }
}

TEST_CASE("without rounding only the contamination is left, and it follows the law in d") {
  for (const std::int64_t workers : {3, 4, 7, 16}) {
    const RingShape shape{workers, 4 * workers};
    for (const double d : {0x1p-6, 0x1p-11, 0x1p-16}) {
      CAPTURE(workers);
      CAPTURE(d);
      PiggybackCode code = make_piggyback_code(shape, {.eta = kEta}, false);
      code.d = d;
      const auto all = gradients<double>(shape, 2000, 0);
      const double error = relative_error(piggyback_reference<double>(code, all), true_sum(all));
      CHECK(error == doctest::Approx(predict_piggyback_error(shape, d, {.eta = 0})).epsilon(0.05).scale(0));
    }
  }
}

TEST_CASE("groups that differ by 1e4 keep their own relative error; without adapting they lose it") {
  const RingShape shape{4, 32};
  const std::vector<double> scale = {1, 1e4, 1, 1e4, 1e4, 1, 1e-4, 1};
  const auto all = gradients<float>(shape, 4000, 0, scale);
  const Matrix<double> sum = true_sum(all);
  const auto errors = [&](bool adapts) {
    const PiggybackCode code = make_piggyback_code(shape, {.eta = kEta}, adapts);
    const auto results = piggyback_reference<float>(code, all);
    double worst = 0;
    for (std::int64_t group = 0; group < code.groups(); ++group) {
      worst = std::max(worst, relative_error(results, sum, 4 * group, 4));
    }
    return worst;
  };
  const double adapting = errors(true);
  const double fixed = errors(false);
  MESSAGE(fmt::format("worst group's own error: {:.3g} % adapting, {:.3g} % without", 100 * adapting, 100 * fixed));
  CHECK(adapting < 2e-4);
  CHECK(fixed > 0.1);
}

TEST_CASE("zeros beside large groups stay below 2^-20 d times those, a zero group after all others is exact") {
  const RingShape shape{4, 32};
  const auto all = gradients<float>(shape, 4000, 0, {1, 0, 1, 0, 0, 1, 1, 0});
  const PiggybackCode code = make_piggyback_code(shape, {.eta = kEta});
  float largest = 0;
  for (const Matrix<float>& result : piggyback_reference<float>(code, all)) {
    for (const std::int64_t group : {1, 3, 4}) {
      const float zero = result.middleCols(4 * group, 4).cwiseAbs().maxCoeff();
      largest = std::max(largest, zero);
      // The largest of 4 x 4000 sums of four normal numbers is below 12.
      CHECK(zero < 0x1p-20 * code.d * 12);
    }
    CHECK(result.rightCols(4).cwiseAbs().maxCoeff() == 0.0F);
  }
  MESSAGE(fmt::format("largest value where zeros should be: {:.3g} = 2^-20 d x {:.3g}", largest,
                      largest / (0x1p-20 * code.d)));
}

TEST_CASE("one worker's group that differs from the others' does not spoil its neighbours") {
  const RingShape shape{4, 12};
  for (const std::size_t odd : {0U, 1U, 2U, 3U}) {
    for (const float factor : {0.0F, 1e-4F, 1e4F}) {
      CAPTURE(odd);
      CAPTURE(factor);
      auto all = gradients<float>(shape, 4000, 0);
      all[odd].middleCols(4, 4) *= factor;
      const Matrix<double> sum = true_sum(all);
      const PiggybackCode code = make_piggyback_code(shape, {.eta = kEta});
      const auto results = piggyback_reference<float>(code, all);
      // While group 0 is summed nobody knows more than the own norms: what one worker alone has so much larger in group
      // 1 leaks into group 0 as it would without adapting, at most d / 2 of it.
      const double first = factor > 1 ? code.d / 2 * static_cast<double>(factor) : 5e-4;
      MESSAGE(fmt::format("worker {}'s group 1 times {:g}: errors of groups 0, 1, 2 are {:.3g} {:.3g} {:.3g} %", odd,
                          factor, 100 * relative_error(results, sum, 0, 4), 100 * relative_error(results, sum, 4, 4),
                          100 * relative_error(results, sum, 8, 4)));
      CHECK(relative_error(results, sum, 0, 4) < first);
      CHECK(relative_error(results, sum, 4, 4) < 5e-4);
      CHECK(relative_error(results, sum, 8, 4) < 5e-4);
    }
  }
}

TEST_CASE("the scale is a power of two between 2^-20 and 2^20, whatever the norms") {
  CHECK(piggyback_scale(1, 1) == 1);
  CHECK(piggyback_scale(1000, 1) == 1024);
  CHECK(piggyback_scale(1, 1000) == 1.0 / 1024);
  CHECK(piggyback_scale(1e30, 1e-30) == 0x1p20);
  CHECK(piggyback_scale(0, 1) == 0x1p-20);
  CHECK(piggyback_scale(1, 0) == 1);
  CHECK(piggyback_scale(std::numeric_limits<double>::infinity(), 1) == 1);
  CHECK(piggyback_scale(1, std::nan("")) == 1);
}

TEST_CASE("a code that cannot be is refused with what would do") {
  CHECK_THROWS_WITH_AS((void)make_piggyback_code({4, 14}, {.eta = kEta}), doctest::Contains("12 and 16"),
                       std::invalid_argument);
  CHECK_THROWS_AS((void)make_piggyback_code({4, 3}, {.eta = kEta}), std::invalid_argument);
  PiggybackCode code = make_piggyback_code({4, 12}, {.eta = kEta});
  for (const double bad : {0.0, -1.0, std::nan(""), 1e300, 0.1}) {
    code.d = bad;
    CHECK_THROWS_AS(validate(code), std::invalid_argument);
  }
  CHECK_THROWS_AS((void)piggyback_reference<float>(make_piggyback_code({2, 8}, {.eta = kEta}), {}),
                  std::invalid_argument);
}

TEST_CASE("roles: every worker serves every chain once a pass, and receives what its predecessor sent") {
  for (const std::int64_t workers : {1, 2, 3, 8}) {
    for (std::int64_t worker = 0; worker < workers; ++worker) {
      for (std::int64_t round = 2; round <= 5 * workers; ++round) {
        const PiggybackRole now = piggyback_role(worker, round, workers);
        const PiggybackRole sender = piggyback_role(wrap(worker - 1, workers), round - 1, workers);
        CHECK(now.chain == sender.chain);
        CHECK(now.role == (sender.role + 1) % workers);
        CHECK(now.pass == sender.pass + (now.role == 0 ? 1 : 0));
        CHECK(now.role == wrap(worker - now.chain, workers));
      }
    }
  }
}

TEST_CASE("the number of chunks follows the vector and the link, and no multiple of N near by is better") {
  const auto seconds = [](std::int64_t workers, std::int64_t chunks, double values, const LinkSpeed& link) {
    return static_cast<double>(RingShape{workers, chunks}.rounds()) *
           (link.latency_seconds + 4 * values / (static_cast<double>(chunks) * link.bytes_per_second));
  };
  for (const std::int64_t workers : {3, 4, 8, 16}) {
    for (const std::int64_t values : {1, 1000, 1'000'000, 100'000'000}) {
      for (const LinkSpeed& link : {LinkSpeed{}, LinkSpeed{10e-6, 1.25e9}, LinkSpeed{1e-3, 1e7}}) {
        CAPTURE(workers);
        CAPTURE(values);
        const std::int64_t chunks = piggyback_chunks(workers, values, link);
        CHECK(chunks % workers == 0);
        CHECK(chunks >= workers);
        CHECK(chunks <= 64 * workers);
        const double best = seconds(workers, chunks, static_cast<double>(values), link);
        for (const std::int64_t other : {chunks / 2 / workers * workers, 2 * chunks}) {
          if (other >= workers && other <= 64 * workers) {
            CHECK(best <= seconds(workers, other, static_cast<double>(values), link));
          }
        }
      }
    }
  }
  CHECK(piggyback_chunks(1, 1000, {}) == 1);
  CHECK(piggyback_chunks(2, 1000, {}) == 2);
  CHECK_THROWS_AS((void)piggyback_chunks(4, 0, {}), std::invalid_argument);
  CHECK_THROWS_AS((void)piggyback_chunks(4, 10, {-1, 1}), std::invalid_argument);
}

TEST_CASE("hashes tell codes apart") {
  const PiggybackCode code = make_piggyback_code({4, 12}, {.eta = kEta});
  PiggybackCode other = code;
  CHECK(hash(code) == hash(other));
  other.d *= 2;
  CHECK(hash(code) != hash(other));
  other = code;
  other.adapts_scale = false;
  CHECK(hash(code) != hash(other));
  CHECK(hash(code) != hash(make_piggyback_code({4, 16}, {.eta = kEta})));
}

}  // namespace cerar
