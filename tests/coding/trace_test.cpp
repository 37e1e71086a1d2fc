#include "coding/trace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cerar {
namespace {

TraceSum sorted(TraceSum sum) {
  std::sort(sum.begin(), sum.end());
  return sum;
}

/// s_{i,t} = sum_{k=0}^{min(t,N)-1} delta_{i-k,t-k}
TraceSum closed_form(std::int64_t i, std::int64_t t, std::int64_t N) {
  TraceSum sum;
  for (std::int64_t k = 0; k < std::min(t, N); ++k) {
    sum.push_back({wrap(i - k, N), t - k});
  }
  return sorted(sum);
}

/// o_{i,t}: the closed form of r_{i,t} = s_{i-1,t} without the term of worker i, which is there from round N on.
TraceSum closed_form_others(std::int64_t i, std::int64_t t, std::int64_t N) {
  TraceSum sum = closed_form(wrap(i - 1, N), t, N);
  std::erase_if(sum, [&](const TraceTerm& term) { return term.worker == i; });
  return sum;
}

std::string message_of(const RingShape& shape, Decoder decoder, std::int64_t first_kept_round) {
  try {
    static_cast<void>(trace_protocol(shape, decoder, first_kept_round));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("the simulated schedule equals the closed form of every message") {
  for (const std::int64_t N : {1, 2, 3, 4, 5, 8, 16}) {
    for (const std::int64_t c : {N, N + 1, 2 * N - 1, 2 * N, 3 * N, 3 * N + 2}) {
      CAPTURE(N);
      CAPTURE(c);
      const Trace trace = trace_protocol({N, c}, Decoder::own_exact, 1);
      REQUIRE(std::ssize(trace.rounds) == c + N - 2);
      for (std::int64_t t = 1; t <= std::ssize(trace.rounds); ++t) {
        const auto& round = trace.rounds[static_cast<std::size_t>(t - 1)];
        REQUIRE(std::ssize(round) == N);
        for (std::int64_t i = 0; i < N; ++i) {
          const TraceStep& step = round[static_cast<std::size_t>(i)];
          CHECK(step.worker == i);
          CHECK(step.sends_to == (i + 1) % N);
          CHECK(step.receives_from == (i + N - 1) % N);
          CHECK(std::ssize(step.sent) == std::min(t, N));
          CHECK(sorted(step.sent) == closed_form(i, t, N));
          CHECK(sorted(step.received) == closed_form(wrap(i - 1, N), t, N));
          CHECK(sorted(step.others) == closed_form_others(i, t, N));
          CHECK(step.removed.has_value() == (t >= N));
          if (step.removed) {
            CHECK(*step.removed == TraceTerm{i, t - N + 1});
          }
          CHECK(step.added.has_value() == (t < std::ssize(trace.rounds)));
          if (step.added) {
            CHECK(*step.added == TraceTerm{i, t + 1});
          }
        }
      }
    }
  }
}

TEST_CASE("own-exact decoding keeps o_f .. o_L, L - f + 1 vectors without the own contribution") {
  for (const auto& [N_, c_, f_] :
       {std::tuple{4, 5, 1}, {4, 5, 3}, {4, 12, 3}, {3, 7, 2}, {2, 2, 1}, {1, 4, 1}, {8, 20, 7}}) {
    const std::int64_t N = N_, c = c_, f = f_;  // CAPTURE takes no structured binding
    CAPTURE(N);
    CAPTURE(c);
    CAPTURE(f);
    const Trace trace = trace_protocol({N, c}, Decoder::own_exact, f);
    const std::int64_t L = c + N - 2;
    for (std::int64_t i = 0; i < N; ++i) {
      const auto& kept = trace.kept[static_cast<std::size_t>(i)];
      REQUIRE(std::ssize(kept) == L - f + 1);
      for (std::int64_t m = 0; m < std::ssize(kept); ++m) {
        const KeptVector& vector = kept[static_cast<std::size_t>(m)];
        CHECK(vector.kind == KeptVector::Kind::others);
        CHECK(vector.round == f + m);
        CHECK(sorted(vector.sum) == closed_form_others(i, f + m, N));
      }
    }
  }
}

TEST_CASE("the paper's decoder keeps s_N, r_N .. r_L: c vectors, each a sum over all N workers") {
  for (const auto& [N_, c_] : {std::pair{4, 5}, {4, 12}, {8, 20}, {3, 7}, {2, 2}, {2, 5}, {16, 48}}) {
    const std::int64_t N = N_, c = c_;
    CAPTURE(N);
    CAPTURE(c);
    const RingShape shape{N, c};
    const Trace trace = trace_protocol(shape, Decoder::paper, last_first_kept_round(shape));
    for (std::int64_t i = 0; i < N; ++i) {
      const auto& kept = trace.kept[static_cast<std::size_t>(i)];
      REQUIRE(std::ssize(kept) == c);
      CHECK(kept[0].kind == KeptVector::Kind::sent);
      CHECK(kept[0].round == N);
      CHECK(sorted(kept[0].sum) == closed_form(i, N, N));
      for (std::int64_t m = 1; m < c; ++m) {
        const KeptVector& vector = kept[static_cast<std::size_t>(m)];
        CHECK(vector.kind == KeptVector::Kind::received);
        CHECK(vector.round == N + m - 1);
        CHECK(sorted(vector.sum) == closed_form(wrap(i - 1, N), N + m - 1, N));
      }
    }
  }
}

TEST_CASE("what is kept is what the rounds put aside, in order") {
  for (const Decoder decoder : {Decoder::own_exact, Decoder::paper}) {
    const Trace trace = trace_protocol({5, 9}, decoder, 4);
    for (std::size_t i = 0; i < 5; ++i) {
      std::vector<KeptVector> gathered;
      for (const auto& round : trace.rounds) {
        gathered.insert(gathered.end(), round[i].kept.begin(), round[i].kept.end());
      }
      CHECK(gathered == trace.kept[i]);
    }
  }
}

TEST_CASE("the paper's example: 4 workers, 5 chunks, 7 rounds") {
  const Trace trace = trace_protocol({4, 5}, Decoder::own_exact, 1);
  REQUIRE(trace.rounds.size() == 7);
  CHECK(trace.shape.rate() == doctest::Approx(1.4));
  // Round 4: the first message that is a sum over all workers reaches the worker that began it.
  const TraceStep& step = trace.rounds[3][1];
  CHECK(step.received == TraceSum{{1, 1}, {2, 2}, {3, 3}, {0, 4}});
  CHECK(step.removed == TraceTerm{1, 1});
  CHECK(step.others == TraceSum{{2, 2}, {3, 3}, {0, 4}});
  CHECK(step.added == TraceTerm{1, 5});
  CHECK_FALSE(trace.rounds[2][1].removed.has_value());
  CHECK(trace.rounds[6][3].sent == TraceSum{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
}

TEST_CASE("small rings: one worker hears only itself, one worker with one chunk has no rounds") {
  const Trace alone = trace_protocol({1, 3}, Decoder::own_exact, 1);
  REQUIRE(alone.rounds.size() == 2);
  CHECK(alone.rounds[1][0].sent == TraceSum{{0, 2}});
  CHECK(alone.rounds[1][0].others.empty());
  const Trace empty = trace_protocol({1, 1}, Decoder::own_exact, 1);
  CHECK(empty.rounds.empty());
  REQUIRE(empty.kept.size() == 1);
  CHECK(empty.kept[0].empty());
  const Trace two = trace_protocol({2, 2}, Decoder::paper, 1);
  REQUIRE(two.rounds.size() == 2);
  CHECK(two.rounds[1][0].removed == TraceTerm{0, 1});
}

TEST_CASE("impossible requests are refused with the number in the sentence") {
  CHECK_THROWS_AS(static_cast<void>(trace_protocol({4, 3}, Decoder::own_exact, 1)), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(trace_protocol({0, 3}, Decoder::own_exact, 1)), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(trace_protocol({-2, -1}, Decoder::own_exact, 1)), std::invalid_argument);
  CHECK(message_of({4, 5}, Decoder::own_exact, 4).find("first kept round is 4") != std::string::npos);
  CHECK(message_of({4, 5}, Decoder::own_exact, 0).find("first kept round is 0") != std::string::npos);
  CHECK(message_of({4, 5}, Decoder::paper, 1).find("has 3") != std::string::npos);
  CHECK(message_of({1, 5}, Decoder::paper, 1).find("at least 2 workers") != std::string::npos);
  CHECK(message_of({1000, 3000}, Decoder::own_exact, 1).find("1000 workers") != std::string::npos);
  CHECK(message_of({kMostChunks, kMostChunks}, Decoder::own_exact, 1).find("terms") != std::string::npos);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(message_of({huge, huge}, Decoder::own_exact, 1).find("at most") != std::string::npos);
}

}  // namespace
}  // namespace cerar
