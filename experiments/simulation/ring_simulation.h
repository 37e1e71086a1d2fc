#pragma once

#include <cstdint>
#include <span>

namespace cerar {

/// A connection from one rank to the next.
struct SimulatedLink {
  double bytes_per_second = 0;            ///< payload, > 0
  double latency_seconds = 0;             ///< from a byte's leaving to its arrival, >= 0
  double buffer_bytes = double{1 << 20};  ///< what the kernel takes from a rank before the link has carried it, >= 0
};

/// What a rank's thread spends on the steps of SliceExecutor and on moving bytes, in seconds; all >= 0.
struct SimulatedWork {
  double begin_per_value = 0;    ///< of a slice: looking for NaN, encoding
  double round_per_value = 0;    ///< of a message: into and out of the kernel, work on the arrival
  double finish_per_value = 0;   ///< of a slice: decoding
  double round_per_message = 0;  ///< independently of its length: system calls, bookkeeping
};

/// One all-reduce as the pipeline runs it (docs/runtime.md, "Slices").
struct SimulatedRing {
  std::int64_t workers = 0;             ///< N >= 2
  std::int64_t chunks = 0;              ///< c >= 1 of a slice
  std::int64_t rounds = 0;              ///< L >= 1
  std::int64_t values = 0;              ///< of the vector, >= 0
  std::int64_t slice_chunk_values = 0;  ///< q >= 1
  std::int64_t slices_in_flight = 0;    ///< W >= 1
};

struct SimulatedTime {
  double seconds = 0;           ///< until the last rank has its sum
  std::int64_t link_bytes = 0;  ///< over every link
  double link_seconds = 0;      ///< that the busiest link carries bytes
  double work_seconds = 0;      ///< of a rank's thread
};

/// Steps that simulate() takes: messages times ranks that are told apart.
[[nodiscard]] double simulation_steps(const SimulatedRing& ring, std::size_t links);

/// Plays the schedule (docs/simulation.md): messages in MessageOrder, a message ready when the executor's rules say so,
/// a link that carries one after the other, a rank that works on one arrival after the other. A pure function.
///
/// @param links  one, of which all are like (then all ranks are alike and one is simulated, whatever N), or N, from
///   rank i to i + 1
/// @throws std::invalid_argument for values out of the ranges above
[[nodiscard]] SimulatedTime simulate(const SimulatedRing& ring, std::span<const SimulatedLink> links,
                                     const SimulatedWork& work);

}  // namespace cerar
