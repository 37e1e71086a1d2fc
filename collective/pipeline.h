#pragma once

#include "collective/communicator.h"
#include "collective/link.h"
#include "collective/operation.h"
#include "collective/slice_executor.h"
#include "collective/slices.h"

#include <memory>
#include <span>
#include <vector>

namespace cerar {

/// Runs one collective over the link: exchanges the operation header, then moves the messages of all slices in
/// MessageOrder, as many slices in flight as there are executors, sending and receiving whatever can move at any
/// moment.
///
/// No size can freeze the ring: a rank stops receiving a message only until it has sent an earlier one in the same
/// order, so among all ranks the one with the earliest message outstanding can always go on.
///
/// @param executors  one per slot, W >= 1, all of one kind
/// @throws RingError as Communicator::all_reduce does
void run_pipeline(RingLink& link, std::int64_t rank, const OperationHeader& header, std::span<const Slice> slices,
                  std::span<const std::unique_ptr<SliceExecutor>> executors, Statistics& statistics);

}  // namespace cerar
