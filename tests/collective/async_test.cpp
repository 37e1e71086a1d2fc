// Operations in flight, many tensors, and what an operation allocates.
#include "coding/piggyback.h"
#include "collective/communicator.h"
#include "optimize/fit.h"
#include "tests/collective/ring_of_processes.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> allocations = 0;
}

#ifndef CERAR_SANITIZED
// Every allocation of the program is counted: what operator new is asked for, Eigen's included.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace cerar {

namespace {

using testing::RankResult;
using testing::run_ring;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("many all-reduces in flight: right sums in any order of waiting, mixed with synchronous collectives") {
  const auto results = run_ring(4, [](Communicator& communicator) {
    std::vector<float> record;
    for (int repetition = 0; repetition < 3; ++repetition) {
      std::vector<std::vector<float>> tensors;
      std::vector<PendingAllReduce> pending;
      for (std::size_t k = 0; k < 40; ++k) {
        tensors.emplace_back(1 + 977 * k, static_cast<float>(k + 1));
      }
      for (std::vector<float>& tensor : tensors) {
        pending.push_back(communicator.all_reduce_async(tensor));
      }
      communicator.barrier();
      for (std::size_t k = pending.size(); k-- > 0;) {
        CHECK(pending[k].is_done());
        pending[k].wait();
      }
      for (std::size_t k = 0; k < tensors.size(); ++k) {
        record.push_back(static_cast<float>(std::ranges::count(tensors[k], 4 * static_cast<float>(k + 1))) -
                         static_cast<float>(tensors[k].size()));
      }
    }
    return record;
  });
  for (const RankResult& result : results) {
    REQUIRE_MESSAGE(result.status == 0, result.error);
    CHECK(result.values == std::vector<float>(120, 0.0F));
  }
}

TEST_CASE("an asynchronous all-reduce that fails says so to whoever waits, then and ever after") {
  const auto results = run_ring(3, [](Communicator& communicator) {
    std::vector<float> good(1000, 1.0F);
    std::vector<float> bad(1000, 1.0F);
    std::vector<float> after(1000, 1.0F);
    bad[7] = communicator.rank() == 1 ? NAN : 1.0F;
    const PendingAllReduce first = communicator.all_reduce_async(good);
    const PendingAllReduce second = communicator.all_reduce_async(bad);
    const PendingAllReduce third = communicator.all_reduce_async(after);
    first.wait();
    CHECK_THROWS_AS(third.wait(), RingError);
    second.wait();
    return good;
  });
  for (const RankResult& result : results) {
    CHECK(result.status == 1);
    CHECK_MESSAGE(contains(result.error, "rank 1: value 7 of 1000 is nan"), result.error);
  }
  Communicator alone{CommunicatorOptions{}};
  std::vector<float> values(3, 2.0F);
  CHECK_THROWS_AS(static_cast<void>(alone.all_reduce_async(values, {.slices_in_flight = 0})), std::invalid_argument);
}

TEST_CASE("many tensors are summed as few operations, and a coded sum keeps them apart") {
  const std::vector<std::size_t> lengths = {3, 100, 0, 40'000, 2, 5, 500};
  for (const bool coded : {false, true}) {
    CAPTURE(coded);
    const auto results = run_ring(
        3,
        [&](Communicator& communicator) {
          std::vector<std::vector<float>> tensors;
          for (const std::size_t length : lengths) {
            tensors.emplace_back(length, static_cast<float>(1 + communicator.rank()));
          }
          const std::vector<std::span<float>> spans(tensors.begin(), tensors.end());
          const std::int64_t before = communicator.statistics().all_reduces;
          communicator.all_reduce(spans, {.bucket_bytes = 4000});
          std::vector<float> record = {static_cast<float>(communicator.statistics().all_reduces - before)};
          for (const std::vector<float>& tensor : tensors) {
            for (const float value : tensor) {
              record.push_back(std::abs(value - 6.0F));
            }
          }
          return record;
        },
        [&](CommunicatorOptions& options) {
          if (coded) {
            options.code = fit({.shape = {3, 9}}).code;
          }
        });
    for (const RankResult& result : results) {
      REQUIRE_MESSAGE(result.status == 0, result.error);
      CHECK(result.values[0] == 3.0F);  // {3, 100, 0}, 40,000 alone, {2, 5, 500}
      CHECK(*std::max_element(result.values.begin() + 1, result.values.end()) < (coded ? 0.02F : 1e-6F));
    }
  }
}

#ifndef CERAR_SANITIZED
TEST_CASE("once warm, an operation allocates nothing") {
  struct Case {
    const char* name;
    std::optional<RingCode> code;
    std::optional<Algorithm> algorithm;
  };
  const NoiseModel f32{.wire = "f32", .eta = 2.53e-8};
  for (const Case& c :
       {Case{"ring", {}, Algorithm::exact}, Case{"naive", {}, Algorithm::naive},
        Case{"doubling", {}, Algorithm::doubling}, Case{"chosen by size", {}, {}},
        Case{"coded", fit({.shape = {4, 12}}).code, {}}, Case{"piggyback", make_piggyback_code({4, 32}, f32), {}}}) {
    CAPTURE(c.name);
    const auto results = run_ring(
        4,
        [&](Communicator& communicator) {
          std::vector<float> large(300'001);
          std::vector<float> small(1'000);
          const auto reduce = [&] {
            for (std::vector<float>* values : {&large, &small}) {
              std::ranges::fill(*values, 1.0F);
              communicator.all_reduce(*values, {.algorithm = c.algorithm});
            }
            communicator.barrier();
          };
          reduce();
          reduce();
          const std::int64_t before = allocations;
          reduce();
          const auto allocated = static_cast<float>(allocations - before);
          communicator.barrier();  // until here no rank says goodbye, whose message is kept in memory
          return std::vector<float>{allocated};
        },
        [&](CommunicatorOptions& options) { options.code = c.code; });
    for (const RankResult& result : results) {
      REQUIRE_MESSAGE(result.status == 0, result.error);
      CHECK(result.values[0] == 0.0F);
    }
  }
}
#endif

}  // namespace cerar
