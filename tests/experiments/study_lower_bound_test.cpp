#include "coding/lower_bound.h"
#include "experiments/study/linear_protocol.h"
#include "experiments/study/lower_bound.h"
#include "experiments/study/short_protocol.h"
#include "tests/program.h"

#include <Eigen/QR>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <vector>

namespace cerar {
namespace {

using testing::contains;
using testing::Folder;

TEST_CASE(
    "the causality floor: known values, zero from c + N - 2 rounds on, and without any round nothing of the others") {
  CHECK(causality_floor(4, 8, 8) == doctest::Approx(std::sqrt(3.0 / 32)));
  CHECK(causality_floor(4, 8, 9) == doctest::Approx(std::sqrt(1.0 / 32)));
  CHECK(causality_floor(4, 8, 10) == 0);
  CHECK(causality_floor(4, 8, 0) == doctest::Approx(std::sqrt(3.0 / 4)));
  for (std::int64_t n = 2; n <= 6; ++n) {
    CHECK(causality_floor(n, 2 * n, 3 * n - 2) == 0);
    CHECK(causality_floor(n, 2 * n, 3 * n - 3) > 0);
  }
}

/// The least relative error with which worker 0 can decode the others' sum linearly from what it receives.
double best_error(const LinearProtocol& protocol) {
  const std::int64_t d = protocol.dimension;
  Eigen::MatrixXd map((protocol.workers - 1) * d, protocol.rounds * protocol.values);
  Eigen::MatrixXd target((protocol.workers - 1) * d, d);
  for (std::int64_t worker = 1; worker < protocol.workers; ++worker) {
    for (std::int64_t place = 0; place < d; ++place) {
      std::vector<Eigen::VectorXd> gradients(static_cast<std::size_t>(protocol.workers), Eigen::VectorXd::Zero(d));
      gradients[static_cast<std::size_t>(worker)](place) = 1;
      map.row((worker - 1) * d + place) = run_protocol(protocol, gradients).front().transpose();
    }
    target.middleRows((worker - 1) * d, d).setIdentity();
  }
  const Eigen::MatrixXd decoder = map.colPivHouseholderQr().solve(target);
  return (map * decoder - target).norm() / std::sqrt(static_cast<double>(protocol.workers * d));
}

TEST_CASE("no random linear protocol gets below the floor, whatever it forwards and however it is decoded") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    for (const std::int64_t rounds : {1, 5, 8, 9}) {
      const double error = best_error(random_protocol(4, rounds, 2, 16, seed));
      CHECK(error >= causality_floor(4, 8, rounds) * (1 - 1e-12));
      CHECK(error < 1);
    }
  }
  // With two workers there is nothing to forward: the floor is attained.
  CHECK(best_error(random_protocol(2, 3, 1, 5, 1)) == doctest::Approx(causality_floor(2, 5, 3)));
}

TEST_CASE("a worker that receives fewer than d values takes two different gradients for one") {
  const LinearProtocol protocol = random_protocol(4, 7, 3, 24, 9);
  const Confusion confusion = confuse(protocol, 9);
  const auto first = run_protocol(protocol, confusion.one).front();
  CHECK((first - run_protocol(protocol, confusion.other).front()).norm() < 1e-12 * first.norm());
  CHECK(confusion.one[0].isZero(0));
  CHECK(confusion.one[1] == confusion.one[3]);
  CHECK((confusion.one[1] - confusion.other[1]).norm() == doctest::Approx(confusion.one[1].norm()));
  CHECK(confusion.sum_distance == doctest::Approx(1));
  CHECK_THROWS_AS(static_cast<void>(confuse(random_protocol(4, 8, 3, 24, 9), 9)), std::invalid_argument);
}

TEST_CASE("optimised protocols of 8 and 9 rounds at (4, 8) stay above the floor, as far as other optimisers got") {
  for (const std::int64_t rounds : {8, 9}) {
    const auto found = optimise_short_protocol({4, 8}, rounds, 2, 1, {});
    REQUIRE(found);
    CHECK(found->error > causality_floor(4, 8, rounds));
    CHECK(found->error < (rounds == 8 ? 0.365 : 0.245));
  }
}

TEST_CASE("cerar study lower-bound: files, and bad input") {
  const Folder folder;
  const testing::Outcome good =
      testing::cerar(folder, "study lower-bound --workers 3 --chunks 5 --starts 2 -o results");
  CHECK(good.status == 0);
  CHECK(contains(good.out, "verdict: holds"));
  const auto summary = nlohmann::json::parse(testing::contents(folder / "results/summary.json"));
  REQUIRE(summary["floors"].size() == 3);  // L = 5, 6 and the exact ring's 7
  CHECK(summary["floors"][0]["floor"].get<double>() == doctest::Approx(std::sqrt(1.0 / 15)));
  CHECK(testing::contents(folder / "results/floor.png").size() > 5'000);
  const testing::Outcome bad = testing::cerar(folder, "study lower-bound --workers 1 --chunks 5 -o new");
  CHECK(bad.status != 0);
  CHECK(contains(bad.err, "at least 2 workers"));
  CHECK(!std::filesystem::exists(folder / "new"));
}

}  // namespace
}  // namespace cerar
