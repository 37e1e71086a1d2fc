#include "coding/piggyback_reference.h"
#include "collective/communicator.h"
#include "collective/slices.h"
#include "tests/collective/ring_of_processes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cerar {

namespace {

constexpr std::uint64_t kSeed = 31337;

using testing::RankResult;
using testing::run_ring;

PiggybackCode code_for(std::int64_t workers, std::int64_t chunks, bool adapts = true) {
  return make_piggyback_code({workers, chunks}, {.wire = "f32", .eta = 2.53e-8}, adapts);
}

/// Runs `operations` all-reduces in a row of the same seeded gradients, and returns the last one's results.
std::vector<RankResult> reduce(const PiggybackCode& code, std::size_t values, const AllReduceOptions& options = {},
                               int operations = 1) {
  auto results = run_ring(
      code.shape.workers,
      [&](Communicator& communicator) {
        std::vector<float> mine;
        for (int k = 0; k < operations; ++k) {
          mine = testing::gradient_of(communicator.rank(), values, kSeed);
          communicator.all_reduce(mine, options);
        }
        return mine;
      },
      [&](CommunicatorOptions& place) { place.code = code; });
  for (const RankResult& result : results) {
    REQUIRE_MESSAGE(result.status == 0, result.error);
  }
  return results;
}

/// What the sequential reference says, slice by slice: one vector a rank.
std::vector<std::vector<float>> reference(const PiggybackCode& code, std::size_t values,
                                          const std::vector<std::int64_t>& tensors, std::int64_t slice_chunk_values,
                                          int sign) {
  std::vector<std::vector<float>> sums;
  for (std::int64_t rank = 0; rank < code.shape.workers; ++rank) {
    sums.push_back(testing::gradient_of(rank, values, kSeed));
  }
  for (const Slice& slice : cut_slices(tensors, code.shape.chunks, slice_chunk_values)) {
    Matrices<float> gradients;
    for (const std::vector<float>& vector : sums) {
      Matrix<float> chunks = Matrix<float>::Zero(slice.chunk_values, code.shape.chunks);
      std::copy_n(vector.begin() + slice.offset, slice.length, chunks.data());
      gradients.push_back(std::move(chunks));
    }
    const Matrices<float> decoded = piggyback_reference<float>(code, gradients, sign);
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      std::copy_n(decoded[rank].data(), slice.length, sums[rank].begin() + slice.offset);
    }
  }
  return sums;
}

void check_bits(const std::vector<RankResult>& results, const std::vector<std::vector<float>>& expected) {
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    CHECK(results[rank].values == expected[rank]);
  }
}

}  // namespace

TEST_CASE("piggyback ring of 3 to 17 processes: the reference to the bit, and its bytes to the byte") {
  MESSAGE("seed " << kSeed);
  for (std::int64_t workers = 3; workers <= 17; ++workers) {
    for (const std::int64_t groups : {2, 3, 8}) {
      const PiggybackCode code = code_for(workers, groups * workers);
      for (const std::size_t values : {std::size_t{1}, static_cast<std::size_t>(workers - 1), std::size_t{20011}}) {
        CAPTURE(workers);
        CAPTURE(groups);
        CAPTURE(values);
        const AllReduceOptions options;
        const auto results = reduce(code, values, options);
        const std::vector<std::int64_t> tensors = {static_cast<std::int64_t>(values)};
        check_bits(results, reference(code, values, tensors, options.slice_chunk_values, 1));
        std::int64_t bytes = 0;
        for (const Slice& slice : cut_slices(tensors, code.shape.chunks, options.slice_chunk_values)) {
          bytes += 4 * code.shape.rounds() * (slice.chunk_values + 4);
        }
        for (const RankResult& result : results) {
          CHECK(result.statistics.payload_bytes == bytes);
          CHECK(result.statistics.header_bytes == 48);
        }
      }
    }
  }
}

TEST_CASE("piggyback where nothing is superposed: c = N, one and two workers give the exact ring's sums and bytes") {
  for (const RingShape& shape : {RingShape{1, 1}, {1, 4}, {2, 2}, {2, 16}, {5, 5}}) {
    const std::size_t values = 10007;
    CAPTURE(shape.workers);
    CAPTURE(shape.chunks);
    const PiggybackCode code = code_for(shape.workers, shape.chunks);
    const auto results = reduce(code, values);
    const auto exact = reduce(code, values, {.algorithm = Algorithm::exact});
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      CHECK(results[rank].values == exact[rank].values);
      CHECK(results[rank].statistics.payload_bytes == exact[rank].statistics.payload_bytes);
    }
  }
}

TEST_CASE("piggyback without adapting scales sends (c + N - 2) / c of the padded size and nothing else") {
  const PiggybackCode code = code_for(4, 16, false);
  for (const std::size_t values : {0U, 1U, 65536U, 100003U}) {
    const auto results = reduce(code, values);
    const std::vector<std::int64_t> tensors = {static_cast<std::int64_t>(values)};
    std::int64_t padded = 0;
    for (const Slice& slice : cut_slices(tensors, 16, AllReduceOptions{}.slice_chunk_values)) {
      padded += 16 * slice.chunk_values;
    }
    check_bits(results, reference(code, values, tensors, AllReduceOptions{}.slice_chunk_values, 1));
    for (const RankResult& result : results) {
      CHECK(result.statistics.payload_bytes == 4 * padded * 18 / 16);
    }
  }
}

TEST_CASE("piggyback alternates the sign of d, keeps to tensors, and gives the same bits for any slices and any run") {
  const PiggybackCode code = code_for(3, 9);
  const std::vector<std::int64_t> tensors = {20000, 0, 10, 1, 9992};
  const std::size_t values = 30003;
  for (const std::int64_t chunk_values : {1, 100, 4096}) {
    for (const std::int64_t in_flight : {1, 3, 20}) {
      CAPTURE(chunk_values);
      CAPTURE(in_flight);
      const AllReduceOptions options{
          .tensor_lengths = tensors, .slice_chunk_values = chunk_values, .slices_in_flight = in_flight};
      for (const int operations : {1, 2, 4}) {
        check_bits(
            reduce(code, values, options, operations),
            reference(code, values, tensors, chunk_values, piggyback_sign(static_cast<std::uint64_t>(operations - 1))));
      }
    }
  }
}

TEST_CASE("piggyback works in the caller's memory: what it needs beside it stays small") {
  const std::size_t values = 1 << 22;
  for (const RankResult& result : reduce(code_for(8, 64), values)) {
    CHECK(result.statistics.extra_memory_bytes > 0);
    CHECK(result.statistics.extra_memory_bytes < 500'000);
  }
}

TEST_CASE("a large vector, and messages far beyond socket buffers") {
  const std::size_t values = 4194304;
  const PiggybackCode code = code_for(3, 24);
  for (const std::int64_t chunk_values : {std::int64_t{4096}, static_cast<std::int64_t>(values)}) {
    check_bits(reduce(code, values, {.slice_chunk_values = chunk_values}),
               reference(code, values, {static_cast<std::int64_t>(values)}, chunk_values, 1));
  }
}

TEST_CASE("piggyback refuses a NaN on every rank, and a shift code's ring cannot run it") {
  for (const RankResult& result : run_ring(
           3,
           [](Communicator& communicator) {
             std::vector<float> values(100, communicator.rank() == 1 ? INFINITY : 1.0F);
             communicator.all_reduce(values);
             return values;
           },
           [](CommunicatorOptions& place) { place.code = code_for(3, 6); })) {
    CHECK(result.status == 1);
    CHECK_MESSAGE(result.error.find("rank 1: value 0 of 100") != std::string::npos, result.error);
  }
  Communicator alone(CommunicatorOptions{});
  std::vector<float> values(10);
  CHECK_THROWS_AS(alone.all_reduce(values, {.algorithm = Algorithm::piggyback}), std::invalid_argument);
}

}  // namespace cerar
