#pragma once

#include "collective/communicator.h"
#include "collective/link.h"
#include "collective/socket.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace cerar {

/// Where a rank accepts its partners of recursive doubling, as it travels round the ring: the text of an Endpoint.
/// Floats only in name: an all-gather keeps every bit.
using PairAddress = std::array<float, 16>;

/// Listens on the interface on which this rank's predecessor reached it.
[[nodiscard]] Socket listen_for_pairs(const RingLink& link);
[[nodiscard]] PairAddress pair_address(const Socket& listener);

/// Connects this rank with its doubling_partners(), in their order. Of two partners the lower rank connects, before it
/// accepts those below it: the highest rank accepts at once, and so everyone's turn comes.
/// @param addresses  of all ranks, in rank order
/// @throws RingError if that fails, naming the rank
[[nodiscard]] std::vector<Peer> connect_pairs(const CommunicatorOptions& options, ControlPlane& control,
                                              const Socket& listener, std::span<const PairAddress> addresses);

}  // namespace cerar
