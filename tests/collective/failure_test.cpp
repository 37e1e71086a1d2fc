#include "collective/communicator.h"
#include "collective/socket.h"
#include "optimize/fit.h"
#include "tests/collective/ring_of_processes.h"

#include <doctest/doctest.h>

#include <cmath>
#include <signal.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace cerar {

namespace {

using testing::RankResult;
using testing::run_ring;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// All-reduces until something happens.
std::vector<float> reduce_for_ever(Communicator& communicator) {
  std::vector<float> values(300'000, 1.0F);
  for (;;) {
    std::ranges::fill(values, 1.0F);
    communicator.all_reduce(values);
  }
}

}  // namespace

TEST_CASE("killing any one worker ends all others in time with a sentence that names it") {
  for (std::int64_t victim = 0; victim < 4; ++victim) {
    CAPTURE(victim);
    const auto results = run_ring(4, [victim](Communicator& communicator) {
      if (communicator.rank() == victim) {
        std::thread([] {
          usleep(300'000);
          kill(getpid(), SIGKILL);
        }).detach();
      }
      return reduce_for_ever(communicator);
    });
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      const RankResult& result = results[static_cast<std::size_t>(rank)];
      if (rank == victim) {
        CHECK(result.status == 128 + SIGKILL);
        continue;
      }
      CHECK(result.status == 1);
      CHECK_MESSAGE(contains(result.error, "rank " + std::to_string(victim) + " has vanished"), result.error);
      CHECK(result.seconds < 10);
    }
  }
}

TEST_CASE("a stopped worker ends the others at the deadline, blocked and not spinning") {
  const auto results = run_ring(
      3,
      [](Communicator& communicator) {
        if (communicator.rank() == 1) {
          std::thread([] {
            usleep(200'000);
            // Stops this process's main thread for good, as SIGSTOP would, but lets the test end by itself.
            usleep(5'000'000);
            _exit(0);
          }).detach();
          usleep(100'000);
          pause();
        }
        return reduce_for_ever(communicator);
      },
      [](CommunicatorOptions& options) { options.timeout_seconds = 2; });
  // Rank 2 waits for the stopped rank itself; whoever speaks first is believed by all.
  for (const std::size_t rank : {0U, 2U}) {
    CHECK(results[rank].status == 1);
    CHECK_MESSAGE(contains(results[rank].error, "waited 2 s for rank"), results[rank].error);
    CHECK(results[rank].seconds < 5);
  }
}

TEST_CASE("a NaN or an infinity stops every rank, and names rank and place") {
  for (const float bad : {std::nanf(""), INFINITY}) {
    const auto results = run_ring(4, [bad](Communicator& communicator) {
      std::vector<float> values(5000, 1.0F);
      communicator.all_reduce(values);
      if (communicator.rank() == 2) {
        values[4321] = bad;
      }
      communicator.all_reduce(values);
      return values;
    });
    for (const RankResult& result : results) {
      CHECK(result.status == 1);
      CHECK_MESSAGE(contains(result.error, "rank 2: value 4321 of 5000 is"), result.error);
    }
  }
}

TEST_CASE("ranks that disagree on count, algorithm or operation all fail with both values") {
  SUBCASE("count") {
    for (const RankResult& result : run_ring(3, [](Communicator& communicator) {
           std::vector<float> values(communicator.rank() == 1 ? 999 : 1000);
           communicator.all_reduce(values);
           return values;
         })) {
      CHECK(result.status == 1);
      CHECK_MESSAGE(contains(result.error, "of 1000 values"), result.error);
      CHECK_MESSAGE(contains(result.error, "of 999 values"), result.error);
    }
  }
  SUBCASE("algorithm") {
    for (const RankResult& result : run_ring(3, [](Communicator& communicator) {
           std::vector<float> values(1000);
           communicator.all_reduce(values,
                                   {.algorithm = communicator.rank() == 1 ? Algorithm::naive : Algorithm::exact});
           return values;
         })) {
      CHECK(result.status == 1);
      CHECK_MESSAGE(contains(result.error, "all_reduce (exact)"), result.error);
      CHECK_MESSAGE(contains(result.error, "all_reduce (naive)"), result.error);
    }
  }
  SUBCASE("slice plan") {
    for (const RankResult& result : run_ring(3, [](Communicator& communicator) {
           std::vector<float> values(1000);
           communicator.all_reduce(values, {.slice_chunk_values = communicator.rank() == 1 ? 10 : 20});
           return values;
         })) {
      CHECK(result.status == 1);
      CHECK_MESSAGE(contains(result.error, "slice size"), result.error);
    }
  }
  SUBCASE("one rank has left") {
    const auto results = run_ring(3, [](Communicator& communicator) {
      std::vector<float> values(1000);
      if (communicator.rank() != 1) {
        communicator.all_reduce(values);
      }
      return values;
    });
    CHECK(results[1].status == 0);
    for (const std::size_t rank : {0U, 2U}) {
      CHECK(results[rank].status == 1);
      CHECK_MESSAGE(contains(results[rank].error, "rank 1"), results[rank].error);
    }
  }
}

TEST_CASE("a failed communicator fails again at once") {
  for (const RankResult& result : run_ring(2, [](Communicator& communicator) {
         std::vector<float> values(10, communicator.rank() == 1 ? INFINITY : 0.0F);
         CHECK_THROWS_AS(communicator.all_reduce(values), RingError);
         communicator.barrier();
         return values;
       })) {
    CHECK(result.status == 1);
    CHECK_MESSAGE(contains(result.error, "rank 1: value 0 of 10"), result.error);
  }
}

TEST_CASE("set-up: what differs is said on both sides") {
  const auto body = [](Communicator&) { return std::vector<float>(); };
  SUBCASE("a wrong secret") {
    const auto results = run_ring(3, body, [](CommunicatorOptions& options) {
      options.timeout_seconds = 1.5;
      if (options.rank == 2) {
        options.secret = "another";
      }
    });
    CHECK_MESSAGE(contains(results[2].error, "secrets differ"), results[2].error);
    CHECK_MESSAGE(contains(results[2].error, "CERAR_SECRET"), results[2].error);
    for (const std::size_t rank : {0U, 1U}) {
      CHECK_MESSAGE(contains(results[rank].error, "did not meet rank 2"), results[rank].error);
      CHECK_MESSAGE(contains(results[rank].error, "secrets differ"), results[rank].error);
    }
  }
  SUBCASE("the world size") {
    const auto results = run_ring(2, body, [](CommunicatorOptions& options) {
      options.timeout_seconds = 5;
      options.size += options.rank;
    });
    for (const RankResult& result : results) {
      CHECK_MESSAGE(contains(result.error, "world sizes differ"), result.error);
    }
  }
  SUBCASE("the code") {
    const auto results = run_ring(2, body, [](CommunicatorOptions& options) {
      options.code = fit({.shape = {2, 4 + options.rank}}).code;
    });
    for (const RankResult& result : results) {
      CHECK_MESSAGE(contains(result.error, "codes differ"), result.error);
    }
  }
  SUBCASE("a code for another number of workers") {
    const auto results = run_ring(2, body, [](CommunicatorOptions& options) {
      options.timeout_seconds = 2;
      options.code = fit({.shape = {3, 6}}).code;
    });
    for (const RankResult& result : results) {
      CHECK_MESSAGE(contains(result.error, "the code is for 3 workers and this job has 2"), result.error);
    }
  }
  SUBCASE("a rank that does not come") {
    const auto results = run_ring(3, body, [](CommunicatorOptions& options) {
      options.timeout_seconds = 1;
      if (options.rank == 1) {
        _exit(0);
      }
    });
    CHECK_MESSAGE(contains(results[0].error, "did not meet rank 1"), results[0].error);
    CHECK_MESSAGE(contains(results[2].error, "rank 1"), results[2].error);
  }
  SUBCASE("a rank that comes twice") {
    const auto results = run_ring(3, body, [](CommunicatorOptions& options) {
      options.timeout_seconds = 2;
      if (options.rank == 2) {
        options.rank = 1;
      }
    });
    CHECK(results[0].status == 1);
    CHECK_MESSAGE(contains(results[1].error + results[2].error, "rank 1 of this job is taken"), results[1].error);
  }
}

TEST_CASE("strangers at rank 0's port are dropped and the ring goes on") {
  const auto results = run_ring(
      3,
      [](Communicator& communicator) {
        std::vector<float> values(10, 1.0F);
        communicator.all_reduce(values);
        return values;
      },
      [](CommunicatorOptions& options) {
        if (options.rank == 1) {
          for (const char* words : {"GET / HTTP/1.1\r\nHost: cerar\r\nAccept: */*\r\n\r\n", "", "x"}) {
            std::string reason;
            Socket stranger;
            const Deadline deadline(5);
            while (!stranger.is_open() && !deadline.passed()) {
              stranger = try_connect({options.master_host, options.master_port}, deadline, reason);
              usleep(1000);
            }
            std::span<const std::byte> bytes = std::as_bytes(std::span(words, std::char_traits<char>::length(words)));
            (void)send_some(stranger, bytes);
          }
        }
      });
  for (const RankResult& result : results) {
    CHECK_MESSAGE(result.status == 0, result.error);
    CHECK(result.values == std::vector<float>(10, 3.0F));
  }
}

TEST_CASE("two hundred communicators in a row leave no descriptor behind") {
  const auto results = run_ring(2, [](Communicator&) { return std::vector<float>(); });
  REQUIRE(results[0].status == 0);
  // The parent forked and joined; now one pair of processes meets again and again on one port.
  const auto cycles = run_ring(
      2, [](Communicator&) { return std::vector<float>(); },
      [](CommunicatorOptions& options) {
        const int first = dup(0);
        close(first);
        for (int cycle = 0; cycle < 200; ++cycle) {
          Communicator communicator(options);
          communicator.barrier();
        }
        const int last = dup(0);
        close(last);
        if (first != last) {
          _exit(77);
        }
      });
  for (const RankResult& result : cycles) {
    CHECK_MESSAGE(result.status == 0, result.error);
  }
}

}  // namespace cerar
