#include "collective/pairs.h"

#include "collective/doubling.h"
#include "collective/rendezvous.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace cerar {

Socket listen_for_pairs(const RingLink& link) { return listen_on({local_endpoint(link.previous().socket).host, 0}); }

PairAddress pair_address(const Socket& listener) {
  const Endpoint endpoint = local_endpoint(listener);
  const std::string text = std::to_string(endpoint.port) + ' ' + endpoint.host;
  PairAddress address{};
  std::memcpy(address.data(), text.data(), std::min(text.size(), sizeof address - 1));
  return address;
}

namespace {

Endpoint endpoint_of(const PairAddress& address) {
  std::array<char, sizeof(PairAddress)> text;
  std::memcpy(text.data(), address.data(), text.size());
  text.back() = '\0';
  const std::string words = text.data();
  const auto space = words.find(' ');
  return {words.substr(space + 1), static_cast<std::uint16_t>(std::stoul(words.substr(0, space)))};
}

}  // namespace

std::vector<Peer> connect_pairs(const CommunicatorOptions& options, ControlPlane& control, const Socket& listener,
                                std::span<const PairAddress> addresses) {
  const Deadline deadline(options.timeout_seconds);
  const std::vector<std::int64_t> partners = doubling_partners(options.rank, options.size);
  std::vector<Peer> pairs(partners.size());
  const auto place = [&](Peer peer) {
    const auto index = std::ranges::find(partners, peer.rank) - partners.begin();
    pairs[static_cast<std::size_t>(index)] = std::move(peer);
  };
  std::vector<std::int64_t> lower;
  for (const std::int64_t partner : partners) {
    if (partner < options.rank) {
      lower.push_back(partner);
    } else {
      place(
          connect_rank(partner, endpoint_of(addresses[static_cast<std::size_t>(partner)]), options, deadline, control));
    }
  }
  while (!lower.empty()) {
    Peer peer = accept_one_of(lower, listener, options, deadline, control);
    std::erase(lower, peer.rank);
    place(std::move(peer));
  }
  return pairs;
}

}  // namespace cerar
