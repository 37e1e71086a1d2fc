#pragma once

#include "coding/error.h"
#include "coding/ring_code.h"
#include "collective/profile.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// A collective or the ring's set-up failed. The text names the rank to blame where it is known, the operation and what
/// happened. The communicator is of no further use: destroy it.
class RingError : public Error {
 public:
  using Error::Error;
};

/// How the sum is made. Every rank of an operation must ask for the same one.
enum class Algorithm {
  exact,  ///< reduce-scatter, then all-gather: 2 (N - 1) / N values sent per gradient value, all ranks bitwise equal
  naive,  ///< every gradient circulates once round the ring: N - 1 values sent per gradient value
  coded,  ///< the paper's protocol with the communicator's (U, R): (c + N - 2) / c values sent per gradient value
  piggyback,  ///< the piggyback ring with the communicator's code, as many values as coded
  doubling,   ///< recursive doubling: exact in log2 N exchanges of the whole vector, all ranks bitwise equal
};

[[nodiscard]] std::string_view name(Algorithm algorithm) noexcept;

/// The algorithm that runs a code of this kind.
[[nodiscard]] Algorithm algorithm_of(const RingCode& code) noexcept;

/// Codes can be fitted for wires that no ring runs yet.
/// @throws std::invalid_argument saying so unless this ring sends the words that the code is for
void require_ring_for_wire(const RingCode& code);

/// @throws std::invalid_argument listing the known names
[[nodiscard]] Algorithm algorithm_from_name(std::string_view name);

/// Who this process is in the job and where it meets the others.
struct CommunicatorOptions {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::string master_host = "127.0.0.1";  ///< where rank 0 listens; every rank names the same
  std::uint16_t master_port = 0;          ///< where rank 0 listens
  std::string secret;                     ///< job secret; every rank names the same, never sent over the wire
  double timeout_seconds = 30;            ///< deadline of the rendezvous and of each operation
  std::optional<RingCode> code;           ///< what Algorithm::coded or piggyback runs; must be the same on all ranks
  /// Largest vector, in bytes, that a communicator without a code sums by recursive doubling where no algorithm is
  /// asked for; the same on every rank. Nothing: chosen from measured latency and bandwidth (docs/runtime.md, "Small
  /// vectors").
  std::optional<std::int64_t> doubling_up_to_bytes;
};

/// Reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (as torchrun and `cerar launch` set them), CERAR_SECRET,
/// CERAR_TIMEOUT (seconds) and CERAR_DOUBLING_UP_TO (bytes).
/// @return nothing if no rank is in the environment
/// @throws Error naming the variable, if the set is partial or a value is no number in its range
[[nodiscard]] std::optional<CommunicatorOptions> options_from_environment();

/// What this worker has sent and where its time went, since construction. Counters only grow: take differences.
struct Statistics {
  std::int64_t operations = 0;                  ///< collectives completed, barriers included
  std::int64_t all_reduces = 0;                 ///< all-reduces begun
  std::int64_t rounds = 0;                      ///< messages of data sent: rounds times slices
  std::int64_t payload_bytes = 0;               ///< sent to the next worker, data only
  std::int64_t header_bytes = 0;                ///< sent to the next worker, operation headers
  double total_seconds = 0;                     ///< inside collectives
  std::array<double, kPhases> phase_seconds{};  ///< by Phase, of the operations that were profiled
  std::int64_t extra_memory_bytes = 0;  ///< largest working memory of one operation, on top of the caller's vector
};

struct AllReduceOptions {
  /// Nothing: what the communicator's code is for; if it has none, exact or doubling, whichever is faster at this size.
  std::optional<Algorithm> algorithm = {};
  /// Lengths of the parameter tensors that make up the vector, in order; must sum to its length. Slices of the coded
  /// ring do not straddle them, so that a small tensor's relative error does not depend on a large neighbour
  /// (docs/theory.md, "Layers leak"). Empty: one tensor.
  std::span<const std::int64_t> tensor_lengths = {};
  /// Values a chunk of a slice holds (q), at most; a slice is c q values. The default is whole cache lines, and an odd
  /// number of them: chunks a power of two apart would get in each other's way in the processor's caches.
  std::int64_t slice_chunk_values = 4080;
  /// W: slices in flight, so that the link does not idle while one is processed.
  std::int64_t slices_in_flight = 8;
  /// Of many tensors: how many bytes of small ones go into one operation, at most.
  std::int64_t bucket_bytes = std::int64_t{4} << 20;
};

class ProgressThread;

/// An all-reduce that has been begun by Communicator::all_reduce_async, in the order in which they were begun. Must not
/// outlive its communicator.
class PendingAllReduce {
 public:
  /// Returns once the sum is there.
  /// @throws RingError as Communicator::all_reduce does, for this operation or one before it
  void wait() const;
  [[nodiscard]] bool is_done() const;

 private:
  friend class Communicator;
  PendingAllReduce(ProgressThread& thread, std::int64_t number) : thread_(&thread), number_(number) {}

  ProgressThread* thread_;
  std::int64_t number_;
};

/// The ring: N processes, one communicator each, raw TCP between neighbours. All ranks must call the same collectives
/// in the same order with the same sizes and options. Not thread-safe; one thread at a time.
///
/// Once operations of every kind and size have run, the next ones allocate nothing.
class Communicator {
 public:
  /// Meets the other ranks and connects the ring. Blocks until all N have arrived.
  /// @throws RingError if that fails or options differ between ranks, std::invalid_argument for impossible options
  explicit Communicator(CommunicatorOptions options);
  ~Communicator();
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] std::int64_t rank() const noexcept;
  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] const std::optional<RingCode>& code() const noexcept;
  /// Not while an operation is pending.
  [[nodiscard]] const Statistics& statistics() const noexcept;

  /// How closely the operations that follow are watched; a rank's own affair. Waits for what is pending.
  void profile(Profiling profiling);
  /// Forgets what was traced and makes room for the latest `events` >= 0 ones, of 48 bytes each.
  void reserve_trace(std::size_t events);
  /// The latest events, in the order in which they ended. Not while an operation is pending.
  [[nodiscard]] std::vector<TraceEvent> trace() const;
  /// How many events the latest ones have displaced.
  [[nodiscard]] std::int64_t displaced_events() const;

  /// Replaces `values` by the sum over all ranks, exactly or as the code approximates it.
  /// @throws RingError, on every rank, naming the rank: a peer is gone, the deadline passed, the ranks' arguments
  /// differ, a rank's values hold a NaN or an infinity, or integer words cannot hold a sum; std::invalid_argument for
  /// options that are wrong on their face. After a RingError the contents of `values` are unspecified.
  void all_reduce(std::span<float> values, const AllReduceOptions& options = {});

  /// The same for many tensors: consecutive small ones are summed together, as one operation a bucket of
  /// `options.bucket_bytes`; a larger one is summed in place. `options.tensor_lengths` must be empty.
  void all_reduce(std::span<const std::span<float>> tensors, const AllReduceOptions& options = {});

  /// Begins all_reduce(values, options) and returns at once; a thread of the communicator's own does the work. Any
  /// number may be under way; they are done one after the other in the order in which they were begun, which must be
  /// the same on every rank. Other collectives wait for them first.
  /// @param values   as `options.tensor_lengths`, must stay as it is until the operation is done
  /// @throws std::invalid_argument as all_reduce does; RingErrors are thrown by PendingAllReduce::wait
  [[nodiscard]] PendingAllReduce all_reduce_async(std::span<float> values, const AllReduceOptions& options = {});

  /// Concatenates the ranks' vectors in rank order on every rank: all[r n .. (r + 1) n) is rank r's.
  /// @param mine  n values; the same n on every rank; may hold NaN
  /// @param all   N n values
  void all_gather(std::span<const float> mine, std::span<float> all);

  /// Returns on every rank once all have called it.
  void barrier();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cerar
