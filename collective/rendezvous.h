#pragma once

#include "collective/communicator.h"
#include "collective/control.h"
#include "collective/deadline.h"
#include "collective/socket.h"

#include <cstdint>
#include <span>

namespace cerar {

/// A connection to another rank that carries operations.
struct Peer {
  std::int64_t rank = 0;
  Socket socket;
};

/// A rank's place in the connected ring.
struct RingConnections {
  ControlPlane control;
  Peer next;      ///< rank + 1; this rank only sends to it
  Peer previous;  ///< rank - 1; this rank only receives from it
};

/// Meets the other ranks at rank 0's address and connects the ring (docs/runtime.md, "Rendezvous"). Rank 0 accepts the
/// N-1 others there, whoever does not prove the job's secret is dropped, and tells each where its successor listens;
/// then neighbours connect. N >= 2.
/// @throws RingError when the deadline passes, naming who is missing, or when the ranks' options differ
[[nodiscard]] RingConnections rendezvous(const CommunicatorOptions& options);

/// The next rank of `ranks` that connects to `listener`; whoever else does is dropped.
/// @throws RingError when the deadline passes or a rank fails meanwhile
[[nodiscard]] Peer accept_one_of(std::span<const std::int64_t> ranks, const Socket& listener,
                                 const CommunicatorOptions& options, const Deadline& deadline, ControlPlane& control);

/// Connects to rank `rank`, which listens at `endpoint`.
/// @throws RingError if another rank is there, when the deadline passes, or a rank fails meanwhile
[[nodiscard]] Peer connect_rank(std::int64_t rank, const Endpoint& endpoint, const CommunicatorOptions& options,
                                const Deadline& deadline, ControlPlane& control);

}  // namespace cerar
