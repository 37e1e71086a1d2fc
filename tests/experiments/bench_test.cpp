#include "experiments/bench/bench.h"

#include "coding/prediction.h"
#include "collective/slices.h"
#include "experiments/bench/check.h"
#include "experiments/bench/inputs.h"
#include "optimize/fit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace cerar::bench {

TEST_CASE("inputs can be made from any even index on, and differ between ranks") {
  for (const InputSet set : {InputSet::integers, InputSet::gradients}) {
    std::vector<float> whole(1001);
    fill_input(set, 5, 3, 0, whole);
    std::vector<float> part(101);
    fill_input(set, 5, 3, 900, part);
    CHECK(std::equal(part.begin(), part.end(), whole.begin() + 900));
    std::vector<float> other(1001);
    fill_input(set, 5, 4, 0, other);
    CHECK(other != whole);
  }
}

TEST_CASE("inputs have the moments they claim") {
  std::vector<float> values(1 << 20);
  const auto moments = [&] {
    double mean = 0;
    double square = 0;
    double fourth = 0;
    for (const float value : values) {
      const double x = value;
      mean += x / static_cast<double>(values.size());
      square += x * x / static_cast<double>(values.size());
      fourth += x * x * x * x / static_cast<double>(values.size());
    }
    return std::vector<double>{mean, square, fourth};
  };
  fill_input(InputSet::gradients, 1, 0, 0, values);
  const auto normal = moments();
  CHECK(std::abs(normal[0]) < 0.005);
  CHECK(normal[1] == doctest::Approx(1).epsilon(0.01));
  CHECK(normal[2] == doctest::Approx(3).epsilon(0.02));
  fill_input(InputSet::integers, 1, 0, 0, values);
  CHECK(moments()[1] == doctest::Approx(kIntegersDeviation * kIntegersDeviation).epsilon(0.01));
}

TEST_CASE("size lists") {
  CHECK(parse_sizes("4K:64K") == std::vector<std::int64_t>{1024, 4096, 16384});
  CHECK(parse_sizes("4:20:2") == std::vector<std::int64_t>{1, 2, 4, 5});
  CHECK(parse_sizes("1G:2G:1024G") == std::vector<std::int64_t>{1 << 28, 1 << 29});
  CHECK(parse_sizes("0,1,4,1M") == std::vector<std::int64_t>{0, 1, 1, 262144});
  for (const char* bad : {"", "x", "4:", ":4", "4:2", "1:2:3:4", "4:8:1", "-4", "4k", "99999999999999G", "1,,2"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)parse_sizes(bad), std::invalid_argument);
  }
}

TEST_CASE("the check of a code tells its own error from a wrong result") {
  const std::int64_t workers = 4;
  const std::int64_t values = 5000;
  const std::int64_t chunk_values = 100;
  const std::uint64_t seed = 9;
  const Code code = fit({.shape = {workers, 12}, .construction = "mpc"}).code;
  const Code rounded = rounded_to_wire(code);
  for (std::int64_t rank = 0; rank < workers; ++rank) {
    const Eigen::MatrixXd map = result_map(rounded, rank);
    std::vector<float> result(values);
    std::vector<float> input(values);
    for (const Slice& slice : cut_slices(std::vector<std::int64_t>{values}, 12, chunk_values)) {
      Eigen::MatrixXd inputs = Eigen::MatrixXd::Zero(slice.chunk_values, workers * 12);
      for (std::int64_t worker = 0; worker < workers; ++worker) {
        fill_input(InputSet::integers, seed, worker, 0, input);
        for (std::int64_t x = 0; x < slice.length; ++x) {
          inputs.col(worker * 12).data()[x] = static_cast<double>(input[static_cast<std::size_t>(slice.offset + x)]);
        }
      }
      const Eigen::MatrixXd expected = inputs * map;
      for (std::int64_t x = 0; x < slice.length; ++x) {
        result[static_cast<std::size_t>(slice.offset + x)] = static_cast<float>(expected.data()[x]);
      }
    }
    const ResultCheck check(Algorithm::coded, code, rank, workers);
    CHECK(check.count_wrong(result, seed, chunk_values) == 0);
    const ResultCheck exact(Algorithm::exact, code, rank, workers);
    CHECK(exact.count_wrong(result, seed, chunk_values) > values / 2);

    std::vector<float> spoilt = result;
    spoilt[17] += 1.0F;
    spoilt[4999] = std::nanf("");
    CHECK(check.count_wrong(spoilt, seed, chunk_values) == 2);
  }
}

}  // namespace cerar::bench
