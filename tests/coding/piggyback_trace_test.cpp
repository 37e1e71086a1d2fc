#include "coding/piggyback_trace.h"

#include "coding/piggyback_reference.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace cerar {
namespace {

/// The coefficients of one worker's b_g in [G_0 | ... | G_{N-1}] (docs/piggyback.md, eq. 2).
Vector<double> contribution(const PiggybackCode& code, std::int64_t group, std::int64_t chain, std::int64_t worker) {
  const std::int64_t workers = code.shape.workers;
  const std::int64_t chunks = code.shape.chunks;
  Vector<double> coefficients = Vector<double>::Zero(workers * chunks);
  const std::int64_t own = worker * chunks + group * workers + chain;
  coefficients(own) = 1;
  if (group + 1 < code.groups()) {
    coefficients(own + workers) = piggyback_coefficients(wrap(worker - chain, workers), workers, code.d, 0).premix;
  }
  return coefficients;
}

/// The same for a whole message.
Vector<double> meaning(const PiggybackCode& code, std::int64_t chain, const PiggybackSymbols& message) {
  Vector<double> sum = Vector<double>::Zero(code.shape.workers * code.shape.chunks);
  if (message.whole) {
    for (std::int64_t worker = 0; worker < code.shape.workers; ++worker) {
      sum += contribution(code, *message.whole, chain, worker);
    }
  }
  for (const std::int64_t worker : message.workers) {
    sum += (message.whole ? code.d : 1.0) * contribution(code, *message.riding, chain, worker);
  }
  return sum;
}

}  // namespace

TEST_CASE("every message of the piggyback ring means what the symbols say") {
  for (const RingShape shape : {RingShape{3, 6}, {3, 12}, {4, 8}, {4, 16}, {7, 21}}) {
    CAPTURE(shape.workers);
    CAPTURE(shape.chunks);
    PiggybackCode code = make_piggyback_code(shape, {.eta = 2.5e-8});
    code.d = 0x1p-11;
    const PiggybackMaps<double> maps = piggyback_maps<double>(code);
    const PiggybackTrace trace = trace_piggyback(shape);
    REQUIRE(std::ssize(trace.rounds) == shape.rounds() + 1);
    for (std::int64_t t = 1; t <= shape.rounds(); ++t) {
      for (const PiggybackStep& step : trace.rounds[static_cast<std::size_t>(t - 1)]) {
        const Matrix<double>& receiver = maps.received[static_cast<std::size_t>(wrap(step.worker + 1, shape.workers))];
        const Vector<double> off = receiver.col(t - 1) - meaning(code, step.serving.chain, step.sent);
        CHECK(off.cwiseAbs().maxCoeff() < 1e-11);
      }
    }
  }
}

TEST_CASE("every worker learns every sum once, finishes it once, and the first one last") {
  for (const RingShape shape : {RingShape{3, 6}, {4, 12}, {5, 25}}) {
    const PiggybackTrace trace = trace_piggyback(shape);
    const std::int64_t groups = shape.chunks / shape.workers;
    for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
      std::vector<int> learned(static_cast<std::size_t>(shape.chunks));
      std::vector<int> finished(static_cast<std::size_t>(shape.chunks));
      for (const auto& round : trace.rounds) {
        const PiggybackStep& step = round[static_cast<std::size_t>(worker)];
        const auto chunk = [&](std::int64_t group) {
          return static_cast<std::size_t>(group * shape.workers + step.serving.chain);
        };
        if (step.learned) {
          ++learned[chunk(*step.learned)];
        }
        for (const std::int64_t group : step.finished) {
          ++finished[chunk(group)];
          CHECK(learned[chunk(group)] == 1);
          CHECK((group + 1 == groups || learned[chunk(group + 1)] == 1));
        }
      }
      CHECK(std::ranges::all_of(learned, [](int times) { return times == 1; }));
      CHECK(std::ranges::all_of(finished, [](int times) { return times == 1; }));
    }
  }
}

TEST_CASE("a piggyback trace that cannot be is refused") {
  CHECK_THROWS_WITH_AS((void)trace_piggyback({4, 14}), doctest::Contains("12 and 16"), std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)trace_piggyback({4, 4}), doctest::Contains("exact ring"), std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)trace_piggyback({2, 8}), doctest::Contains("exact ring"), std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)trace_piggyback({1000, 10000}), doctest::Contains("smaller"), std::invalid_argument);
}

}  // namespace cerar
