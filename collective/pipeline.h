#pragma once

#include "collective/link.h"
#include "collective/operation.h"
#include "collective/recorder.h"
#include "collective/slice_executor.h"
#include "collective/slices.h"

#include <array>
#include <memory>
#include <span>

namespace cerar {

/// A place for one slice in flight: how many rounds of its present slice have wholly left and arrived.
struct PipelineSlot {
  std::unique_ptr<SliceExecutor> executor;
  std::int64_t slice = 0;
  bool active = false;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  // Only while tracing; of the next two messages, of which round t is at t % 2, and of the next arrival.
  std::array<std::int64_t, 2> ready_ns{};
  std::int64_t receivable_ns = 0;
};

/// What a pipeline works on.
struct PipelineData {
  std::span<float> values;  ///< see SliceExecutor::begin
  std::span<const Slice> slices;
  bool must_be_finite = false;  ///< whether a NaN or an infinity in `values` ends the operation
};

/// A value that should be finite isn't.
struct NonfiniteValue {
  std::size_t index = 0;  ///< in the vector
};

/// Runs one collective over the link: exchanges the operation header, then moves the messages of all slices in
/// MessageOrder, as many slices in flight as there are slots, sending and receiving whatever can move at any moment.
///
/// No size can freeze the ring: a rank stops receiving a message only until it has sent an earlier one in the same
/// order, so among all ranks the one with the earliest message outstanding can always go on.
///
/// @param slots   W >= 1, with executors of one kind
/// @throws RingError as Communicator::all_reduce does, NonfiniteValue
void run_pipeline(RingLink& link, const OperationHeader& header, const PipelineData& data,
                  std::span<PipelineSlot> slots, Recorder& recorder);

}  // namespace cerar
