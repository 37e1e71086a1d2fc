#pragma once

#include "collective/link.h"
#include "collective/operation.h"
#include "collective/recorder.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cerar {

/// Whom rank `rank` of `size` exchanges with in recursive doubling, in the order of the exchanges: rank XOR 1, 2, 4,
/// ... among the first P = 2^floor(log2 N) ranks. Each rank beyond P hands its vector to rank - P before, and gets the
/// result after: the one partner of the former, the first of the latter.
[[nodiscard]] std::vector<std::int64_t> doubling_partners(std::int64_t rank, std::int64_t size);

/// Sums `values` over all ranks by recursive doubling: log2 P exchanges of the whole vector, and two more steps where N
/// is no power of two. Fewer steps than the ring's 2 (N - 1), more bytes: for small vectors. All ranks end with the
/// same bits: either partner adds the same two numbers. Between two ranks the operation's header travels first.
/// @param link       with pairs (connect_pairs)
/// @param arriving   scratch, grown to the vector's length
/// @throws RingError as Communicator::all_reduce does
void run_doubling(RingLink& link, const OperationHeader& header, std::span<float> values, std::vector<float>& arriving,
                  Recorder& recorder);

}  // namespace cerar
