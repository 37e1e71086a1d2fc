#pragma once

#include "experiments/bench/bench.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cerar::bench {

/// How a peer's all-reduce is measured: as `cerar bench` measures ours.
struct PeerOptions {
  std::string sizes = "64M";
  std::int64_t warmup = 10;
  std::int64_t iterations = 20;
  std::int64_t back_to_back = 1;  ///< operations of a repetition, without a barrier between them

  void add_to(CLI::App& app) {
    app.add_option("--sizes", sizes, "MIN:MAX[:FACTOR] or a list, in bytes with K, M, G");
    app.add_option("--warmup", warmup, "Untimed repetitions")->check(CLI::NonNegativeNumber);
    app.add_option("--iterations", iterations, "Timed repetitions")->check(CLI::PositiveNumber);
    app.add_option("--back-to-back", back_to_back, "All-reduces of a repetition")->check(CLI::PositiveNumber);
  }
};

/// One rank's view of a peer.
struct Peer {
  std::string name;
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::function<void()> barrier;
  std::function<double(double)> largest;         ///< of all ranks' numbers
  std::function<void(std::vector<float>&)> sum;  ///< the all-reduce, in place
};

/// Times every size and prints a line of JSON for each on rank 0: name, size_bytes, times_us (of each repetition the
/// slowest rank's, divided by back_to_back), wrong.
/// @return the number of wrong values, on every rank
inline std::int64_t measure(const Peer& peer, const PeerOptions& options) {
  using Clock = std::chrono::steady_clock;
  std::int64_t all_wrong = 0;
  for (const std::int64_t count : parse_sizes(options.sizes)) {
    // Sums of small whole numbers are exact in any order; back to back, only zeros stay finite.
    const float mine = options.back_to_back > 1 ? 0.0F : static_cast<float>(peer.rank + 1);
    const std::vector<float> input(static_cast<std::size_t>(count), mine);
    std::vector<float> values = input;
    std::vector<double> times;
    for (std::int64_t k = -options.warmup; k < options.iterations; ++k) {
      std::copy(input.begin(), input.end(), values.begin());
      peer.barrier();
      const auto start = Clock::now();
      for (std::int64_t operation = 0; operation < options.back_to_back; ++operation) {
        peer.sum(values);
      }
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const double slowest = peer.largest(seconds);
      if (k >= 0) {
        times.push_back(1e6 * slowest / static_cast<double>(options.back_to_back));
      }
    }
    const float sum = mine == 0.0F ? 0.0F : static_cast<float>(peer.size * (peer.size + 1) / 2);
    std::int64_t wrong = 0;
    for (const float value : values) {
      wrong += value == sum ? 0 : 1;
    }
    wrong = static_cast<std::int64_t>(peer.largest(static_cast<double>(wrong)));
    all_wrong += wrong;
    if (peer.rank == 0) {
      fmt::print(R"({{"algorithm": "{}", "workers": {}, "size_bytes": {}, "wrong": {}, "times_us": [{:.3f}]}})",
                 peer.name, peer.size, 4 * count, wrong, fmt::join(times, ", "));
      fmt::print("\n");
      std::fflush(stdout);
    }
  }
  return all_wrong;
}

}  // namespace cerar::bench
