#include "coding/reference.h"
#include "collective/communicator.h"
#include "collective/slices.h"
#include "optimize/fit.h"
#include "tests/collective/ring_of_processes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

namespace cerar {

namespace {

constexpr std::uint64_t kSeed = 20240817;

using testing::RankResult;
using testing::run_ring;

/// Sizes that divide evenly by nothing, and the edges.
std::vector<std::size_t> sizes(std::int64_t workers) {
  return {0, 1, 3, static_cast<std::size_t>(workers - 1), 1000, 100003};
}

Code code_for(std::int64_t workers, std::int64_t chunks, const std::string& construction = "overlapped",
              Decoder decoder = Decoder::own_exact) {
  return fit({.shape = {workers, chunks}, .construction = construction, .decoder = decoder}).code;
}

/// Runs one all-reduce of seeded gradients and requires every rank to succeed.
std::vector<RankResult> reduce(std::int64_t workers, std::size_t values, const AllReduceOptions& options,
                               const std::optional<Code>& code = std::nullopt) {
  auto results = run_ring(
      workers,
      [&](Communicator& communicator) {
        std::vector<float> mine = testing::gradient_of(communicator.rank(), values, kSeed);
        communicator.all_reduce(mine, options);
        return mine;
      },
      [&](CommunicatorOptions& place) { place.code = code; });
  for (const RankResult& result : results) {
    REQUIRE_MESSAGE(result.status == 0, result.error);
    REQUIRE(result.values.size() == values);
  }
  return results;
}

/// What the sequential reference says, slice by slice: one vector a rank.
std::vector<std::vector<float>> reference(const Code& code, std::size_t values,
                                          const std::vector<std::int64_t>& tensors, std::int64_t slice_chunk_values) {
  const auto workers = static_cast<std::size_t>(code.shape.workers);
  std::vector<std::vector<float>> sums(workers);
  for (std::size_t rank = 0; rank < workers; ++rank) {
    sums[rank] = testing::gradient_of(static_cast<std::int64_t>(rank), values, kSeed);
  }
  for (const Slice& slice : cut_slices(tensors, code.shape.chunks, slice_chunk_values)) {
    std::vector<Matrix<float>> gradients;
    for (const std::vector<float>& vector : sums) {
      Matrix<float> chunks = Matrix<float>::Zero(slice.chunk_values, code.shape.chunks);
      std::copy_n(vector.begin() + slice.offset, slice.length, chunks.data());
      gradients.push_back(std::move(chunks));
    }
    const std::vector<Matrix<float>> decoded = reference_all_reduce<float>(code, gradients);
    for (std::size_t rank = 0; rank < workers; ++rank) {
      std::copy_n(decoded[rank].data(), slice.length, sums[rank].begin() + slice.offset);
    }
  }
  return sums;
}

std::int64_t padded_values(const std::vector<std::int64_t>& tensors, std::int64_t chunks, std::int64_t chunk_values) {
  std::int64_t sum = 0;
  for (const Slice& slice : cut_slices(tensors, chunks, chunk_values)) {
    sum += chunks * slice.chunk_values;
  }
  return sum;
}

void check_against_double(const std::vector<RankResult>& results, std::size_t values) {
  const auto workers = static_cast<std::int64_t>(results.size());
  std::vector<double> sum(values);
  std::vector<double> magnitude(values);
  for (std::int64_t rank = 0; rank < workers; ++rank) {
    const std::vector<float> gradient = testing::gradient_of(rank, values, kSeed);
    for (std::size_t x = 0; x < values; ++x) {
      sum[x] += static_cast<double>(gradient[x]);
      magnitude[x] += std::abs(static_cast<double>(gradient[x]));
    }
  }
  // N - 1 float additions, whatever their order.
  const double unit = static_cast<double>(workers) * std::numeric_limits<float>::epsilon() / 2;
  for (const RankResult& result : results) {
    std::int64_t wrong = 0;
    for (std::size_t x = 0; x < values; ++x) {
      wrong += std::abs(static_cast<double>(result.values[x]) - sum[x]) <= unit * magnitude[x] ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

const std::vector<std::int64_t> kRings = {2, 3, 4, 5, 6, 7, 8};

}  // namespace

TEST_CASE("one worker: every algorithm leaves the vector as it is and sends nothing") {
  CommunicatorOptions options;
  options.code = code_for(1, 3);
  Communicator communicator(options);
  const std::vector<float> before = testing::gradient_of(0, 1000, kSeed);
  for (const Algorithm algorithm : {Algorithm::exact, Algorithm::naive, Algorithm::coded}) {
    std::vector<float> values = before;
    communicator.all_reduce(values, {.algorithm = algorithm});
    CHECK(values == before);
  }
  communicator.barrier();
  CHECK(communicator.statistics().payload_bytes == 0);
  CHECK(communicator.statistics().operations == 4);
}

TEST_CASE("exact ring: right sums, the bound's bytes to the byte, all ranks bitwise equal, twice the same") {
  MESSAGE("seed " << kSeed);
  for (const std::int64_t workers : kRings) {
    for (const std::size_t values : sizes(workers)) {
      CAPTURE(workers);
      CAPTURE(values);
      const AllReduceOptions options{.algorithm = Algorithm::exact};
      const auto results = reduce(workers, values, options);
      check_against_double(results, values);
      const std::int64_t padded =
          padded_values({static_cast<std::int64_t>(values)}, workers, options.slice_chunk_values);
      CHECK(padded < static_cast<std::int64_t>(values) + workers);
      for (const RankResult& result : results) {
        CHECK(result.values == results[0].values);
        CHECK(result.statistics.payload_bytes == 4 * 2 * (workers - 1) * padded / workers);
        CHECK(result.statistics.header_bytes == 48);
      }
      if (values == 100003) {
        CHECK(reduce(workers, values, options)[0].values == results[0].values);
      }
    }
  }
}

TEST_CASE("exact ring at four million values: the bound's bytes and the same bits on every rank") {
  const std::size_t values = 4194304;
  for (const std::int64_t workers : {2, 3, 4, 6, 8}) {
    CAPTURE(workers);
    const AllReduceOptions options{.algorithm = Algorithm::exact};
    const auto results = reduce(workers, values, options);
    const std::int64_t padded = padded_values({static_cast<std::int64_t>(values)}, workers, options.slice_chunk_values);
    for (const RankResult& result : results) {
      CHECK(result.values == results[0].values);
      CHECK(result.statistics.payload_bytes == 4 * 2 * (workers - 1) * padded / workers);
    }
  }
}

TEST_CASE("naive ring: right sums, N - 1 times the bytes") {
  for (const std::int64_t workers : kRings) {
    for (const std::size_t values : sizes(workers)) {
      CAPTURE(workers);
      CAPTURE(values);
      const auto results = reduce(workers, values, {.algorithm = Algorithm::naive});
      check_against_double(results, values);
      for (const RankResult& result : results) {
        CHECK(result.statistics.payload_bytes == 4 * (workers - 1) * static_cast<std::int64_t>(values));
      }
    }
  }
}

TEST_CASE("coded ring: the sequential reference to the bit, (c + N - 2) / c times the padded bytes") {
  for (const std::int64_t workers : kRings) {
    for (const std::int64_t chunks : {workers, workers + 1, 3 * workers}) {
      const Code code = code_for(workers, chunks);
      for (const std::size_t values : sizes(workers)) {
        CAPTURE(workers);
        CAPTURE(chunks);
        CAPTURE(values);
        const AllReduceOptions options{.algorithm = Algorithm::coded};
        const auto results = reduce(workers, values, options, code);
        const std::vector<std::int64_t> tensors = {static_cast<std::int64_t>(values)};
        const auto expected = reference(code, values, tensors, options.slice_chunk_values);
        const std::int64_t padded = padded_values(tensors, chunks, options.slice_chunk_values);
        for (std::size_t rank = 0; rank < results.size(); ++rank) {
          CHECK(results[rank].values == expected[rank]);
          CHECK(results[rank].statistics.payload_bytes == 4 * code.shape.rounds() * padded / chunks);
        }
      }
    }
  }
}

TEST_CASE("coded ring: every construction and both decoders agree with the reference to the bit") {
  struct Case {
    const char* construction;
    std::int64_t chunks;
    Decoder decoder;
  };
  for (const Case& c : {Case{"cyclic", 12, Decoder::own_exact}, Case{"cyclic", 7, Decoder::paper},
                        Case{"mpc", 8, Decoder::paper}, Case{"mpc-shift", 10, Decoder::own_exact},
                        Case{"ring", 4, Decoder::own_exact}, Case{"ring", 4, Decoder::paper}}) {
    CAPTURE(c.construction);
    CAPTURE(c.chunks);
    const Code code = code_for(4, c.chunks, c.construction, c.decoder);
    const auto results = reduce(4, 30011, {}, code);
    const auto expected = reference(code, 30011, {30011}, AllReduceOptions{}.slice_chunk_values);
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      CHECK(results[rank].values == expected[rank]);
    }
  }
}

TEST_CASE("slices do not straddle tensors, and any slice size and number in flight gives the reference's bits") {
  const Code code = code_for(3, 7);
  const std::vector<std::int64_t> tensors = {20000, 0, 10, 1, 9992};
  const std::size_t values = 30003;
  for (const std::int64_t chunk_values : {1, 100, 4096}) {
    for (const std::int64_t in_flight : {1, 2, 3, 20}) {
      CAPTURE(chunk_values);
      CAPTURE(in_flight);
      const auto results =
          reduce(3, values,
                 {.tensor_lengths = tensors, .slice_chunk_values = chunk_values, .slices_in_flight = in_flight}, code);
      const auto expected = reference(code, values, tensors, chunk_values);
      for (std::size_t rank = 0; rank < results.size(); ++rank) {
        CHECK(results[rank].values == expected[rank]);
      }
    }
  }
}

TEST_CASE("messages far larger than socket buffers do not freeze the ring; four million values") {
  const std::size_t values = 4194304;
  for (const std::int64_t workers : {2, 5, 8}) {
    const Code code = code_for(workers, 2 * workers + 1);
    for (const Algorithm algorithm : {Algorithm::exact, Algorithm::naive, Algorithm::coded}) {
      CAPTURE(workers);
      CAPTURE(name(algorithm));
      AllReduceOptions options{.algorithm = algorithm};
      if (workers == 2) {
        options.slice_chunk_values = static_cast<std::int64_t>(values);  // one slice, messages of 3 to 16 MB
      }
      const auto results = reduce(workers, values, options, code);
      if (algorithm == Algorithm::coded) {
        const auto expected = reference(code, values, {static_cast<std::int64_t>(values)}, options.slice_chunk_values);
        for (std::size_t rank = 0; rank < results.size(); ++rank) {
          CHECK(results[rank].values == expected[rank]);
        }
      } else {
        check_against_double(results, values);
      }
    }
  }
}

TEST_CASE("extra memory is a few megabytes, reported, and true") {
  for (const std::int64_t workers : {4, 8}) {
    const std::size_t values = 1 << 23;
    const auto results = run_ring(
        workers,
        [&](Communicator& communicator) {
          std::vector<float> mine(values, 1.0F);
          // Writing 5 sets the kernel's record of this process's largest resident memory back to what it has now.
          const auto peak_kilobytes = [] {
            std::ifstream status("/proc/self/status");
            for (std::string line; std::getline(status, line);) {
              if (line.starts_with("VmHWM:")) {
                return std::stof(line.substr(6));
              }
            }
            return 0.0F;
          };
          std::ofstream("/proc/self/clear_refs") << "5";
          const float before = peak_kilobytes();
          communicator.all_reduce(mine);
          return std::vector<float>{before, peak_kilobytes()};
        },
        [&](CommunicatorOptions& options) { options.code = code_for(workers, 3 * workers); });
    for (const RankResult& result : results) {
      REQUIRE_MESSAGE(result.status == 0, result.error);
      const auto reported = result.statistics.extra_memory_bytes;
      CHECK(reported > 0);
      CHECK(reported < 10'000'000);
      CHECK(reported < static_cast<std::int64_t>(values));  // a quarter of the vector's bytes
#ifndef CERAR_SANITIZED
      const double grown = 1024.0 * static_cast<double>(result.values[1] - result.values[0]);
      CHECK(grown < static_cast<double>(reported) + 2e6);
#endif
    }
  }
}

TEST_CASE("all_gather keeps every bit, NaN included; a barrier holds everyone back") {
  const auto results = run_ring(5, [](Communicator& communicator) {
    std::vector<float> mine = testing::gradient_of(communicator.rank(), 10007, kSeed);
    mine[3] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> all(5 * mine.size());
    communicator.all_gather(mine, all);
    communicator.barrier();
    return all;
  });
  for (const RankResult& result : results) {
    REQUIRE_MESSAGE(result.status == 0, result.error);
    for (std::size_t rank = 0; rank < 5; ++rank) {
      const std::vector<float> expected = testing::gradient_of(static_cast<std::int64_t>(rank), 10007, kSeed);
      const float* part = result.values.data() + rank * expected.size();
      CHECK(std::isnan(part[3]));
      CHECK(std::equal(expected.begin() + 4, expected.end(), part + 4));
    }
  }
}

TEST_CASE("many operations in a row, of every kind and size, on one communicator") {
  const Code code = code_for(4, 12);
  const auto results = run_ring(
      4,
      [](Communicator& communicator) {
        std::vector<float> record;
        for (const std::size_t values : {0U, 5U, 1000U, 1U, 70000U, 12U}) {
          for (const Algorithm algorithm : {Algorithm::coded, Algorithm::exact, Algorithm::naive}) {
            std::vector<float> mine(values, static_cast<float>(communicator.rank() + 1));
            communicator.all_reduce(mine, {.algorithm = algorithm});
            record.push_back(values == 0 ? 10.0F : mine.back());
          }
          communicator.barrier();
        }
        return record;
      },
      [&](CommunicatorOptions& options) { options.code = code; });
  for (const RankResult& result : results) {
    REQUIRE_MESSAGE(result.status == 0, result.error);
    for (const float sum : result.values) {
      CHECK(sum == doctest::Approx(10).epsilon(0.002));
    }
  }
}

}  // namespace cerar
