#pragma once

#include "collective/communicator.h"
#include "collective/control.h"
#include "collective/socket.h"

namespace cerar {

/// A rank's place in the connected ring.
struct RingConnections {
  ControlPlane control;
  Socket to_next;        ///< to rank + 1; this rank only sends on it
  Socket from_previous;  ///< from rank - 1; this rank only receives on it
};

/// Meets the other ranks at rank 0's address and connects the ring (docs/runtime.md, "Rendezvous"). Rank 0 accepts the
/// N-1 others there, whoever does not prove the job's secret is dropped, and tells each where its successor listens;
/// then neighbours connect. N >= 2.
/// @throws RingError when the deadline passes, naming who is missing, or when the ranks' options differ
[[nodiscard]] RingConnections rendezvous(const CommunicatorOptions& options);

}  // namespace cerar
