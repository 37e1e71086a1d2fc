#pragma once

#include "coding/code.h"
#include "coding/piggyback.h"
#include "collective/recorder.h"
#include "collective/slices.h"

#include <cstdint>
#include <memory>
#include <span>

namespace cerar {

/// One rank's part in one protocol on one slice after another: the local work between the messages. The pipeline
/// (collective/pipeline.h) moves the bytes. The calls for a slice come in this order:
///
///     begin(values, slice)
///     for t = 1 .. rounds():  incoming(t) is filled;  received(t)
///     finish()
///
/// outgoing(1) may be sent from begin() on and outgoing(t + 1) from received(t) on; outgoing(t) must have left before
/// incoming(t + 1) is filled, and all of them before the next begin(). An executor serves one operation after another
/// and allocates nothing once it has seen a slice of every form that it will see.
class SliceExecutor {
 public:
  SliceExecutor() = default;
  SliceExecutor(const SliceExecutor&) = delete;
  SliceExecutor& operator=(const SliceExecutor&) = delete;
  virtual ~SliceExecutor() = default;

  [[nodiscard]] virtual std::int64_t rounds() const noexcept = 0;
  /// Starts on `slice` of the caller's vector, which is summed in place, and prepares outgoing(1).
  /// @param values  the whole vector, as long as the slice is worked on; for an all-gather the N ranks' vectors one
  ///   after the other, the own one in place, and slices cut one of them
  virtual void begin(std::span<float> values, const Slice& slice) = 0;
  [[nodiscard]] virtual std::span<const float> outgoing(std::int64_t round) const = 0;
  /// Where round `round`'s message goes; as long as the predecessor's outgoing(round).
  [[nodiscard]] virtual std::span<float> incoming(std::int64_t round) = 0;
  virtual void received(std::int64_t round) = 0;
  /// Puts the sum into the vector.
  virtual void finish() = 0;
  [[nodiscard]] virtual std::int64_t memory_bytes() const noexcept = 0;
};

/// What an executor works on and reports to. The referenced objects outlive it.
struct SliceContext {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::int64_t longest_message = 0;  ///< p of the longest slice: buffers are allocated once
  Recorder& recorder;
};

/// The ring all-reduce: reduce-scatter in rounds 1 .. N-1, all-gather in rounds N .. 2N-2; c = N chunks.
[[nodiscard]] std::unique_ptr<SliceExecutor> make_exact_executor(const SliceContext& context);

/// Every rank's slice goes once round the ring in N-1 rounds; messages are whole slices, c = 1.
[[nodiscard]] std::unique_ptr<SliceExecutor> make_naive_executor(const SliceContext& context);

/// All-gather, straight into the result.
[[nodiscard]] std::unique_ptr<SliceExecutor> make_gather_executor(const SliceContext& context);

/// The paper's protocol with `code`, which outlives the executor; agrees to the bit with reference_all_reduce<float>.
[[nodiscard]] std::unique_ptr<SliceExecutor> make_coded_executor(const SliceContext& context, const Code& code);

/// What an operation of the piggyback ring has beside its vector.
struct PiggybackOperation {
  std::span<const Slice> slices;  ///< S slices of the operation
  std::span<const float> norms;  ///< l1 norms of this rank's chunks (l1_norm_of) before the operation, chunk j of slice
                                 ///< s is number s c + j; empty where scales don't adapt
  int sign = 1;                  ///< +1 or -1, of d
};

/// The piggyback ring with `code`, which is not is_exact(); agrees to the bit with piggyback_reference<float>. Messages
/// are 4 words longer than a chunk where the code adapts its scales. `code` and `operation`, which is read at every
/// begin(), outlive the executor.
[[nodiscard]] std::unique_ptr<SliceExecutor> make_piggyback_executor(const SliceContext& context,
                                                                     const PiggybackCode& code,
                                                                     const PiggybackOperation& operation);

}  // namespace cerar
