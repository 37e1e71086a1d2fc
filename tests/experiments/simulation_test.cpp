#include "experiments/simulation/ring_simulation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

namespace cerar {
namespace {

constexpr double kRate = 1e8;

SimulatedRing exact(std::int64_t workers, std::int64_t values, std::int64_t chunk_values, std::int64_t in_flight) {
  return {workers, workers, 2 * (workers - 1), values, chunk_values, in_flight};
}

SimulatedRing coded(std::int64_t workers, std::int64_t chunks, std::int64_t values, std::int64_t chunk_values,
                    std::int64_t in_flight) {
  return {workers, chunks, chunks + workers - 2, values, chunk_values, in_flight};
}

double seconds(const SimulatedRing& ring, const SimulatedLink& link, const SimulatedWork& work = {}) {
  return simulate(ring, std::vector{link}, work).seconds;
}

}  // namespace

TEST_CASE("one slice over a link without latency takes L messages' time, and a latency for each with it") {
  for (const std::int64_t workers : {2, 3, 8, 1000}) {
    CAPTURE(workers);
    const std::int64_t rounds = 2 * (workers - 1);
    const SimulatedRing ring = exact(workers, 50 * workers, 50, 1);
    const double message = 4.0 * 50 / kRate;
    CHECK(seconds(ring, {kRate}) == doctest::Approx(static_cast<double>(rounds) * message));
    CHECK(seconds(ring, {kRate, 1e-3}) == doctest::Approx(static_cast<double>(rounds) * (message + 1e-3)));
    CHECK(seconds(ring, {kRate, 1e-3, 0}) == doctest::Approx(static_cast<double>(rounds) * (message + 1e-3)));
  }
}

TEST_CASE("work that nothing hides is added: one slice, closed form") {
  const SimulatedRing ring = coded(4, 12, 1200, 100, 1);
  const SimulatedWork work{1e-6, 2e-6, 3e-6, 5e-5};
  const double expected = 1200 * (1e-6 + 3e-6) + 14 * (4.0 * 100 / kRate + 2e-3 + 100 * 2e-6 + 5e-5);
  CHECK(seconds(ring, {kRate, 2e-3}, work) == doctest::Approx(expected));
  CHECK(simulate(ring, std::vector{SimulatedLink{kRate, 2e-3}}, work).work_seconds ==
        doctest::Approx(expected - 14 * (4.0 * 100 / kRate + 2e-3)));
}

TEST_CASE("many slices in flight hide latency and work: the link is never idle but at the ends") {
  const SimulatedRing ring = coded(4, 12, 12 * 100 * 400, 100, 8);
  const SimulatedWork work{0, 1e-8, 0, 0};
  const double bytes = 4.0 * 14 * 100 * 400;
  const SimulatedTime time = simulate(ring, std::vector{SimulatedLink{kRate, 1e-5}}, work);
  CHECK(time.link_seconds == doctest::Approx(bytes / kRate));
  CHECK(time.seconds >= bytes / kRate);
  CHECK(time.seconds <= bytes / kRate * 1.001 + 2e-5);
  // One at a time, every round waits for the one before.
  CHECK(seconds({4, 12, 14, ring.values, 100, 1}, {kRate, 1e-5}, work) ==
        doctest::Approx(400 * 14 * (400 / kRate + 1e-5 + 100 * 1e-8)));
}

TEST_CASE("where the thread is the bottleneck the time is its work's") {
  const SimulatedRing ring = coded(4, 12, 12 * 100 * 200, 100, 8);
  const SimulatedWork work{1e-7, 1e-6, 1e-7, 0};
  const SimulatedTime time = simulate(ring, std::vector{SimulatedLink{1e12}}, work);
  CHECK(time.work_seconds == doctest::Approx(12 * 100 * 200 * 2e-7 + 14 * 200 * 100 * 1e-6));
  CHECK(time.seconds == doctest::Approx(time.work_seconds).epsilon(1e-3));
}

TEST_CASE("without latency the ratio to the exact ring tends to the ratio of the rates") {
  for (const auto& [workers, chunks] : {std::pair{4, 12}, {8, 20}, {64, 192}}) {
    const auto n = workers;  // a binding cannot be captured
    CAPTURE(n);
    const std::int64_t values = std::int64_t{workers} * chunks * 100'000;
    const double ratio =
        seconds(coded(workers, chunks, values, 1000, 8), {kRate}) / seconds(exact(workers, values, 1000, 8), {kRate});
    const double rates = static_cast<double>(chunks + workers - 2) / chunks * workers / (2.0 * (workers - 1));
    CHECK(ratio == doctest::Approx(rates).epsilon(1e-3));
  }
}

TEST_CASE("bytes are conserved, padding included, whatever the link") {
  std::mt19937_64 random(1);
  INFO("seed 1");
  for (int repetition = 0; repetition < 50; ++repetition) {
    const auto pick = [&](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    const std::int64_t workers = pick(2, 9);
    const SimulatedRing ring = coded(workers, pick(workers, 30), pick(0, 20'000), pick(1, 300), pick(1, 9));
    CAPTURE(ring.values);
    std::int64_t bytes = 0;
    for (std::int64_t done = 0; done < ring.values;) {
      const std::int64_t length = std::min(ring.values - done, ring.chunks * ring.slice_chunk_values);
      bytes += 4 * ring.rounds * ((length + ring.chunks - 1) / ring.chunks);
      done += length;
    }
    const SimulatedLink link{kRate, 1e-6 * static_cast<double>(pick(0, 100)), static_cast<double>(pick(0, 100'000))};
    const SimulatedTime time = simulate(ring, std::vector{link}, {1e-9, 2e-9, 3e-9, 1e-6});
    CHECK(time.link_bytes == bytes);
    CHECK(time.link_seconds == doctest::Approx(static_cast<double>(bytes) / kRate));
    CHECK(time.seconds >= time.link_seconds - 1e-12);
    CHECK(time.seconds >= time.work_seconds - 1e-12);
  }
}

TEST_CASE("ranks told apart give what one gives for all, if their links are alike") {
  const SimulatedWork work{1e-9, 2e-9, 3e-9, 1e-6};
  for (const SimulatedRing& ring : {exact(5, 12'345, 100, 3), coded(5, 15, 12'345, 100, 4)}) {
    const SimulatedLink link{kRate, 3e-5, 10'000};
    const SimulatedTime one = simulate(ring, std::vector{link}, work);
    const SimulatedTime all = simulate(ring, std::vector<SimulatedLink>(5, link), work);
    CHECK(one.seconds == all.seconds);
    CHECK(one.work_seconds == all.work_seconds);
  }
}

TEST_CASE("one slow link sets the pace of the ring") {
  std::vector<SimulatedLink> links(6, SimulatedLink{kRate});
  links[2].bytes_per_second = kRate / 4;
  const SimulatedRing ring = exact(6, 6 * 100 * 300, 100, 8);
  const double slow = simulate(ring, std::vector{links[2]}, {}).seconds;
  const double mixed = simulate(ring, links, {}).seconds;
  CHECK(mixed <= slow);
  CHECK(mixed >= 0.99 * slow);
}

TEST_CASE("a faster link, less latency, less work never take longer") {
  const SimulatedRing ring = coded(8, 20, 100'000, 500, 4);
  const SimulatedWork work{1e-9, 1e-9, 1e-9, 1e-6};
  const double base = seconds(ring, {kRate, 1e-4}, work);
  CHECK(seconds(ring, {2 * kRate, 1e-4}, work) <= base);
  CHECK(seconds(ring, {kRate, 1e-5}, work) <= base);
  CHECK(seconds(ring, {kRate, 1e-4}, {}) <= base);
}

TEST_CASE("simulations of nothing sensible are refused") {
  const std::vector links{SimulatedLink{kRate}};
  CHECK(simulate(exact(4, 0, 10, 1), links, {}).seconds == 0);
  CHECK_THROWS_AS((void)simulate(exact(1, 10, 10, 1), links, {}), std::invalid_argument);
  CHECK_THROWS_AS((void)simulate(exact(4, 10, 0, 1), links, {}), std::invalid_argument);
  CHECK_THROWS_AS((void)simulate(exact(4, 10, 1, 1), std::vector{SimulatedLink{0}}, {}), std::invalid_argument);
  CHECK_THROWS_AS((void)simulate(exact(4, 10, 1, 1), std::vector<SimulatedLink>(3, {kRate}), {}),
                  std::invalid_argument);
  CHECK_THROWS_AS((void)simulate(exact(4, 10, 1, 1), links, {-1}), std::invalid_argument);
}

}  // namespace cerar
