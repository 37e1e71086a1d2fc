#pragma once

#include "collective/communicator.h"
#include "collective/link.h"
#include "collective/operation.h"
#include "collective/slice_executor.h"
#include "collective/slices.h"

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
};

/// Runs one collective over the link: exchanges the operation header, then moves the messages of all slices in
/// MessageOrder, as many slices in flight as there are slots, sending and receiving whatever can move at any moment.
///
/// No size can freeze the ring: a rank stops receiving a message only until it has sent an earlier one in the same
/// order, so among all ranks the one with the earliest message outstanding can always go on.
///
/// @param values  what the executors work on (SliceExecutor::begin)
/// @param slots   W >= 1, with executors of one kind
/// @throws RingError as Communicator::all_reduce does
void run_pipeline(RingLink& link, const OperationHeader& header, std::span<float> values, std::span<const Slice> slices,
                  std::span<PipelineSlot> slots, Statistics& statistics);

}  // namespace cerar
