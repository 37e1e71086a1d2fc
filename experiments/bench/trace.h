#pragma once

#include "collective/communicator.h"
#include "collective/profile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cerar::bench {

/// What one rank traced.
struct RankTrace {
  std::vector<TraceEvent> events;
  std::int64_t displaced = 0;  ///< earlier events for which there was no room
  std::int64_t clock_ns = 0;   ///< how far this rank's clock is ahead of rank 0's
};

/// What rank 0 shows of all ranks' traces.
struct RingTrace {
  std::vector<RankTrace> ranks;
  bool clocks_estimated = false;  ///< ranks on several hosts: clock_ns is right to about a message's latency
};

/// Collects what all ranks have traced; a collective. Clocks of one host are one clock (CLOCK_MONOTONIC); between hosts
/// the difference is the median of what was seen at the ends of 21 barriers.
/// @return all ranks' on rank 0, nothing on the others
[[nodiscard]] RingTrace gather_trace(Communicator& communicator);

/// A name for some of the operations that were traced.
struct TraceLabel {
  std::string text;
  std::int64_t first = 0;  ///< operations [first, last)
  std::int64_t last = 0;
};

/// In Chrome's trace format, which Perfetto opens: a process a rank with the threads "work", "link out" and "link in".
/// Events that belong to no label are left out. Times are in microseconds since the first event.
[[nodiscard]] std::string to_chrome_json(const RingTrace& trace, const std::vector<TraceLabel>& labels);

}  // namespace cerar::bench
