// Recursive doubling, its choice by size, barriers, and ranks that disagree across the ring and the pairs.
#include "collective/doubling.h"

#include "collective/switch_over.h"
#include "optimize/fit.h"
#include "tests/collective/ring_of_processes.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <unistd.h>

namespace cerar {

namespace {

using testing::RankResult;
using testing::run_ring;

constexpr std::uint64_t kSeed = 20261130;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::int64_t floor_log2(std::int64_t number) { return number < 2 ? 0 : 1 + floor_log2(number / 2); }

}  // namespace

TEST_CASE("partners of recursive doubling agree on each other, step by step") {
  CHECK(doubling_partners(0, 2) == std::vector<std::int64_t>{1});
  CHECK(doubling_partners(5, 8) == std::vector<std::int64_t>{4, 7, 1});
  CHECK(doubling_partners(1, 6) == std::vector<std::int64_t>{5, 0, 3});
  CHECK(doubling_partners(5, 6) == std::vector<std::int64_t>{1});
  for (std::int64_t size = 2; size <= 40; ++size) {
    for (std::int64_t rank = 0; rank < size; ++rank) {
      for (const std::int64_t partner : doubling_partners(rank, size)) {
        const auto back = doubling_partners(partner, size);
        CHECK(std::ranges::count(back, rank) == 1);
      }
    }
  }
}

TEST_CASE("recursive doubling: right sums, all ranks bitwise equal, counted bytes") {
  for (std::int64_t workers = 2; workers <= 9; ++workers) {
    for (const std::size_t values : {0U, 1U, 1000U, 300'001U}) {
      CAPTURE(workers);
      CAPTURE(values);
      const auto results = run_ring(workers, [values](Communicator& communicator) {
        std::vector<float> warm(1, 1.0F);
        communicator.all_reduce(warm, {.algorithm = Algorithm::doubling});
        const Statistics before = communicator.statistics();
        std::vector<float> mine = testing::gradient_of(communicator.rank(), values, kSeed);
        communicator.all_reduce(mine, {.algorithm = Algorithm::doubling});
        const Statistics& after = communicator.statistics();
        mine.push_back(static_cast<float>(after.payload_bytes - before.payload_bytes));
        mine.push_back(static_cast<float>(after.header_bytes - before.header_bytes));
        return mine;
      });
      std::vector<double> sum(values);
      std::vector<double> magnitude(values);
      for (std::int64_t rank = 0; rank < workers; ++rank) {
        const std::vector<float> gradient = testing::gradient_of(rank, values, kSeed);
        for (std::size_t x = 0; x < values; ++x) {
          sum[x] += static_cast<double>(gradient[x]);
          magnitude[x] += std::abs(static_cast<double>(gradient[x]));
        }
      }
      const std::int64_t steps = floor_log2(workers);
      const std::int64_t power = std::int64_t{1} << steps;
      for (std::int64_t rank = 0; rank < workers; ++rank) {
        const RankResult& result = results[static_cast<std::size_t>(rank)];
        REQUIRE_MESSAGE(result.status == 0, result.error);
        CHECK(std::equal(result.values.begin(), result.values.end() - 2, results[0].values.begin()));
        const bool has_extra = rank + power < workers;
        const std::int64_t sends = rank >= power ? 1 : steps + (has_extra ? 1 : 0);
        CHECK(result.values[values] == static_cast<float>(sends * 4 * static_cast<std::int64_t>(values)));
        CHECK(result.values[values + 1] == static_cast<float>(48 * sends));
      }
      std::int64_t wrong = 0;
      const double unit = static_cast<double>(workers) * std::numeric_limits<float>::epsilon() / 2;
      for (std::size_t x = 0; x < values; ++x) {
        wrong += std::abs(static_cast<double>(results[0].values[x]) - sum[x]) <= unit * magnitude[x] ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("the switch-over lies where the two straight lines cross, within its limits") {
  CHECK(std::abs(switch_over_bytes({1e-4, 2e-9}, {3e-4, 1e-9}) - 200'000) <= 1);
  CHECK(switch_over_bytes({1e-4, 2e-9}, {1e-4, 1e-9}) == kAlwaysDoublingBytes);
  CHECK(switch_over_bytes({1e-4, 1e-9}, {3e-4, 1e-9}) == kNeverDoublingBytes);
  CHECK(switch_over_bytes({3e-4, 1e-9}, {1e-4, 1e-9}) == kAlwaysDoublingBytes);
  const LinearTime line = LinearTime::through(100, 3, 300, 7);
  CHECK(line.seconds == doctest::Approx(1));
  CHECK(line.seconds_per_byte == doctest::Approx(0.02));
  CHECK(LinearTime::through(100, 3, 300, 2).seconds_per_byte == 0);
}

TEST_CASE(
    "without an algorithm or a code, small vectors are doubled and large ones go round the ring; one can say from "
    "where") {
  const auto bytes_of = [](std::size_t values, std::optional<std::int64_t> up_to) {
    const auto results = run_ring(
        8,
        [values](Communicator& communicator) {
          std::vector<float> mine(values, 1.0F);
          communicator.all_reduce(mine);  // connects and measures
          const std::int64_t before = communicator.statistics().payload_bytes;
          mine.assign(values, 1.0F);
          communicator.all_reduce(mine);
          CHECK(std::ranges::count(mine, 8.0F) == static_cast<std::ptrdiff_t>(values));
          return std::vector<float>{static_cast<float>(communicator.statistics().payload_bytes - before)};
        },
        [up_to](CommunicatorOptions& options) { options.doubling_up_to_bytes = up_to; });
    for (const RankResult& result : results) {
      REQUIRE_MESSAGE(result.status == 0, result.error);
      CHECK(result.values == results[0].values);
    }
    return static_cast<std::int64_t>(results[0].values[0]);
  };
  const std::int64_t doubled = 3 * 4;  // bytes a value
  CHECK(bytes_of(256, {}) == doubled * 256);
  CHECK(bytes_of(1 << 20, {}) == 7 << 20);
  CHECK(bytes_of(256, 0) == 7 * 256);
  CHECK(bytes_of(200'000, 1 << 20) == doubled * 200'000);
  const std::int64_t between = bytes_of(8192, {});
  CHECK((between == doubled * 8192 || between == 7 * 8192));
}

TEST_CASE("a barrier holds everyone back, whatever N") {
  // Microseconds that a float holds exactly; the clock is the machine's.
  const auto now = [] {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<float>(std::chrono::duration_cast<std::chrono::microseconds>(time).count() % 10'000'000);
  };
  for (const std::int64_t workers : {2, 3, 5, 8}) {
    CAPTURE(workers);
    const auto results = run_ring(workers, [&](Communicator& communicator) {
      std::vector<float> entered_and_left;
      for (std::int64_t late = 0; late < communicator.size(); ++late) {
        usleep(communicator.rank() == late ? 20'000 : 0);
        entered_and_left.push_back(now());
        communicator.barrier();
        entered_and_left.push_back(now());
      }
      return entered_and_left;
    });
    for (const RankResult& result : results) {
      REQUIRE_MESSAGE(result.status == 0, result.error);
    }
    for (std::size_t late = 0; late < results.size(); ++late) {
      const float entered = results[late].values[2 * late];
      for (const RankResult& result : results) {
        const float waited = result.values[2 * late + 1] - entered;
        CHECK((waited >= 0 || waited < -5e6F));  // the clock starts again every ten seconds
      }
    }
  }
}

TEST_CASE("a rank that goes round the ring while others double is found out at once, with both operations") {
  for (std::int64_t odd = 0; odd < 4; ++odd) {
    CAPTURE(odd);
    const auto results = run_ring(4, [odd](Communicator& communicator) {
      communicator.barrier();
      std::vector<float> values(1000);
      communicator.all_reduce(values,
                              {.algorithm = communicator.rank() == odd ? Algorithm::exact : Algorithm::doubling});
      return values;
    });
    for (const RankResult& result : results) {
      CHECK(result.status == 1);
      CHECK_MESSAGE(contains(result.error, "ranks disagree on what to do"), result.error);
      CHECK_MESSAGE(contains(result.error, "all_reduce (exact)"), result.error);
      CHECK_MESSAGE(contains(result.error, "all_reduce (doubling)"), result.error);
      CHECK(result.seconds < 10);
    }
  }
}

}  // namespace cerar
