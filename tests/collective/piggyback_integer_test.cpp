#include "coding/piggyback_integer.h"

#include "coding/piggyback_integer_reference.h"
#include "coding/simulation.h"
#include "collective/communicator.h"
#include "collective/slices.h"
#include "tests/collective/ring_of_processes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace cerar {

namespace {

constexpr std::uint64_t kSeed = 31337;

using testing::RankResult;
using testing::run_ring;
using Input = std::function<std::vector<float>(std::int64_t rank)>;

PiggybackCode code_for(std::int64_t workers, std::int64_t chunks) {
  return make_piggyback_code({workers, chunks}, {.wire = "i32", .eta = kIntegerEta});
}

Input normal_numbers(std::size_t values) {
  return [values](std::int64_t rank) { return testing::gradient_of(rank, values, kSeed); };
}

/// Runs `operations` all-reduces in a row of the same input, and returns the last one's results.
std::vector<RankResult> reduce(const PiggybackCode& code, const Input& input, const AllReduceOptions& options = {},
                               int operations = 1) {
  return run_ring(
      code.shape.workers,
      [&](Communicator& communicator) {
        std::vector<float> mine;
        for (int k = 0; k < operations; ++k) {
          mine = input(communicator.rank());
          communicator.all_reduce(mine, options);
        }
        return mine;
      },
      [&](CommunicatorOptions& place) { place.code = code; });
}

/// What the sequential reference says, slice by slice: one vector a rank.
std::vector<std::vector<float>> reference(const PiggybackCode& code, const Input& input,
                                          const std::vector<std::int64_t>& tensors, std::int64_t slice_chunk_values,
                                          int sign = 1) {
  std::vector<std::vector<float>> sums;
  for (std::int64_t rank = 0; rank < code.shape.workers; ++rank) {
    sums.push_back(input(rank));
  }
  for (const Slice& slice : cut_slices(tensors, code.shape.chunks, slice_chunk_values)) {
    Matrices<float> gradients;
    for (const std::vector<float>& vector : sums) {
      Matrix<float> chunks = Matrix<float>::Zero(slice.chunk_values, code.shape.chunks);
      std::copy_n(vector.begin() + slice.offset, slice.length, chunks.data());
      gradients.push_back(std::move(chunks));
    }
    const Matrices<float> decoded = piggyback_integer_reference(code, gradients, sign);
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      std::copy_n(decoded[rank].data(), slice.length, sums[rank].begin() + slice.offset);
    }
  }
  return sums;
}

void check_bits(const std::vector<RankResult>& results, const std::vector<std::vector<float>>& expected) {
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    REQUIRE_MESSAGE(results[rank].status == 0, results[rank].error);
    CHECK(results[rank].values == expected[rank]);
  }
}

}  // namespace

TEST_CASE("i32 piggyback: every ring and length gives the reference's bits, and sends one word a message more") {
  for (const std::int64_t workers : {3, 4, 5, 8}) {
    for (const std::int64_t groups : {2, 3, 8}) {
      const PiggybackCode code = code_for(workers, groups * workers);
      for (const std::size_t values : {0U, 1U, 7U, 100U, 1000U, 12289U, 70001U}) {
        CAPTURE(workers);
        CAPTURE(groups);
        CAPTURE(values);
        const auto length = static_cast<std::int64_t>(values);
        const std::int64_t chunk_values = AllReduceOptions{}.slice_chunk_values;
        const auto results = reduce(code, normal_numbers(values));
        check_bits(results, reference(code, normal_numbers(values), {length}, chunk_values));
        // Messages of p + 1 words; before them, N - 1 times the rms of every chunk.
        const std::int64_t chunks = code.shape.chunks;
        std::int64_t words = 0;
        for (const Slice& slice : cut_slices(std::vector<std::int64_t>{length}, chunks, chunk_values)) {
          words += code.shape.rounds() * (slice.chunk_values + 1) + (workers - 1) * chunks;
        }
        CHECK(results[0].statistics.payload_bytes == 4 * words);
        CHECK(results[0].statistics.operations == 1);
      }
    }
  }
}

TEST_CASE("i32 piggyback: tensors, slices in flight and the sign of later operations") {
  const PiggybackCode code = code_for(3, 9);
  const std::vector<std::int64_t> tensors = {20000, 0, 10, 1, 9992};
  const Input input = normal_numbers(30003);
  for (const std::int64_t chunk_values : {1, 100, 4096}) {
    for (const std::int64_t in_flight : {1, 3, 20}) {
      CAPTURE(chunk_values);
      CAPTURE(in_flight);
      const auto results =
          reduce(code, input,
                 {.tensor_lengths = tensors, .slice_chunk_values = chunk_values, .slices_in_flight = in_flight}, 2);
      check_bits(results, reference(code, input, tensors, chunk_values, piggyback_sign(1)));
    }
  }
}

TEST_CASE("i32 piggyback on processes: the errors to reach") {
  struct Goal {
    std::int64_t workers, chunks;
    double most;
  };
  for (const Goal& goal : {Goal{4, 12, 1.5e-5}, Goal{8, 64, 2.5e-5}}) {
    const PiggybackCode code = code_for(goal.workers, goal.chunks);
    const auto gradients = random_gradients<float>(code.shape, 4096, 0, kSeed);
    const auto results = reduce(code, [&](std::int64_t rank) {
      const Matrix<float>& mine = gradients[static_cast<std::size_t>(rank)];
      return std::vector<float>(mine.data(), mine.data() + mine.size());
    });
    Matrices<float> sums;
    for (const RankResult& result : results) {
      REQUIRE_MESSAGE(result.status == 0, result.error);
      sums.push_back(Eigen::Map<const Matrix<float>>(result.values.data(), 4096, goal.chunks));
    }
    CHECK(measured_error<float>(gradients, sums).relative <= goal.most);
  }
}

TEST_CASE("i32 piggyback: a sum too large for the words is refused on every rank, with the place and what to do") {
  const PiggybackCode code = code_for(4, 12);
  for (const std::size_t place : {0U, 70000U}) {
    CAPTURE(place);
    const auto results = reduce(code, [&](std::int64_t rank) {
      std::vector<float> mine = testing::gradient_of(rank, 70001, kSeed);
      mine[place] = 3e37F;  // four of them are beyond 2^126
      return mine;
    });
    for (const RankResult& result : results) {
      CHECK(result.status == 1);
      CHECK(result.error == results[0].error);
    }
    CAPTURE(results[0].error);
    for (const char* part : {"rank ", "operation 0, all_reduce (piggyback) of 70001 values", "slice ", " of 2, values ",
                             "a sum of 1.2e+38", "scale the gradients down", "--wire f32"}) {
      CHECK(results[0].error.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("i32 piggyback: ranks of different lengths, or with a code for float words, are told so") {
  const PiggybackCode code = code_for(3, 9);
  const auto unequal = reduce(code, [](std::int64_t rank) { return std::vector<float>(rank == 1 ? 300 : 100, 1.0F); });
  for (const RankResult& result : unequal) {
    CHECK(result.status == 1);
    CHECK(result.error.find("of 300 values") != std::string::npos);
    CHECK(result.error.find("of 100 values") != std::string::npos);
  }
  const auto mixed = run_ring(
      3,
      [](Communicator& communicator) {
        std::vector<float> mine(100, 1.0F);
        communicator.all_reduce(mine);
        return mine;
      },
      [&](CommunicatorOptions& place) {
        place.code = place.rank == 1 ? make_piggyback_code({3, 9}, {.wire = "f32", .eta = 2.5e-8}) : code;
      });
  for (const RankResult& result : mixed) {
    CHECK(result.status == 1);
  }
}

}  // namespace cerar
