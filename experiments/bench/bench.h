#pragma once

#include "collective/communicator.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cerar::bench {

struct BenchOptions {
  std::int64_t warmup = 5;       ///< untimed repetitions before the timed ones, >= 0
  std::int64_t iterations = 20;  ///< timed repetitions, >= 1
  /// All-reduces of a repetition, >= 1, one after the other without a barrier; times are a repetition's divided by it.
  /// More than one are made of zeros, which stay finite however often they are summed.
  std::int64_t back_to_back = 1;
  /// Whether results are checked and errors measured; without, `wrong`, `rel_l2` and `rank_div` stay 0, and the
  /// inputs are the integers throughout. Checks take far longer than what they check: every rank makes all inputs.
  bool checks = true;
  std::uint64_t seed = 1;  ///< of the inputs
  double correlation = 0;  ///< rho in [0, 1) of any two ranks' gradients
  std::int64_t slice_chunk_values = AllReduceOptions{}.slice_chunk_values;
  std::int64_t slices_in_flight = AllReduceOptions{}.slices_in_flight;
  bool profile = false;  ///< after every timed repetition another one with timers on, for BenchRow::profile
  bool trace = false;    ///< at the end one more all-reduce, traced (Communicator::trace)
};

/// Where a rank's time goes: means over the profiled repetitions, for one all-reduce, in microseconds.
struct RankProfile {
  double unprofiled_us = 0;  ///< its mean time without timers
  double profiled_us = 0;    ///< with them
  std::array<double, kPhases> phase_us{};

  [[nodiscard]] double operator[](Phase phase) const { return phase_us[static_cast<std::size_t>(phase)]; }
  /// Moving bytes and waiting for them.
  [[nodiscard]] double communication_us() const {
    return (*this)[Phase::send] + (*this)[Phase::receive] + (*this)[Phase::wait];
  }
  [[nodiscard]] double computation_us() const {
    return (*this)[Phase::check] + (*this)[Phase::encode] + (*this)[Phase::prepare] + (*this)[Phase::update] +
           (*this)[Phase::decode];
  }
};

/// Operations that were traced for a row: those whose sequence number is in [first, last).
struct TracedOperations {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// One line of the table: an algorithm at a size, all ranks together. Times follow the paper's method: a barrier before
/// every repetition, of each repetition the slowest rank, of those the median.
struct BenchRow {
  std::string algorithm;  ///< its name, or "auto"
  std::int64_t workers = 0;
  std::int64_t count = 0;       ///< float values
  std::int64_t size_bytes = 0;  ///< 4 count
  std::string wire = "f32";
  double time_us = 0;  ///< median over the repetitions of the slowest rank's time
  double time_min_us = 0;
  double time_max_us = 0;
  std::vector<double> times_us = {};  ///< of every repetition, in order
  /// Spent on arithmetic (RankProfile::computation_us), most over ranks; from the profiled repetitions, of which there
  /// are three at most without BenchOptions::profile.
  double local_us = 0;
  double cpu_us = 0;       ///< processor time of the mean timed repetition, system calls included; mean over the ranks
  double algbw_gbps = 0;   ///< size / time in 10^9 bytes a second, as nccl-tests has it
  double busbw_gbps = 0;   ///< algbw 2 (N - 1) / N
  std::int64_t wrong = 0;  ///< values on all ranks that differ from what the algorithm must give (ResultCheck)
  std::int64_t wire_bytes = 0;  ///< most bytes that a rank sends to its neighbour in one operation, headers included
  std::int64_t extra_memory_bytes = 0;    ///< Statistics' so far, the largest over the ranks
  double rel_l2 = 0;                      ///< distance from the true sum of the gradients, the largest over the ranks
  double rank_div = 0;                    ///< largest distance between two ranks' results, relative (rank_divergence)
  std::vector<RankProfile> profile = {};  ///< by rank, if BenchOptions::profile
  TracedOperations traced = {};           ///< if BenchOptions::trace
};

/// Measures and checks one all-reduce; a collective, every rank gets the same row.
/// @param algorithm  nothing: what the communicator chooses, "auto"
/// @param count  float values in the vector
/// @throws std::invalid_argument for impossible options, RingError
[[nodiscard]] BenchRow run_bench(Communicator& communicator, std::optional<Algorithm> algorithm, std::int64_t count,
                                 const BenchOptions& options);

/// The size list MIN:MAX[:FACTOR] or a comma-separated list, each a number of bytes with an optional K, M or G (1024s).
/// @return float counts in the order given; a MIN:MAX list multiplies by FACTOR (default 4) from MIN on and ends with
/// MAX
/// @throws std::invalid_argument saying what a list looks like
[[nodiscard]] std::vector<std::int64_t> parse_sizes(const std::string& text);

}  // namespace cerar::bench
