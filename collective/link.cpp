#include "collective/link.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

namespace cerar {

namespace {

template <class Byte>
msghdr gather(std::span<const std::span<Byte>> spans, std::array<iovec, RingLink::kMostSpans>& vectors) {
  msghdr message{};
  message.msg_iov = vectors.data();
  for (const std::span<Byte> span : spans.first(std::min(spans.size(), vectors.size()))) {
    // sendmsg does not write through the pointer; iovec has no const twin.
    vectors[message.msg_iovlen++] = {const_cast<std::byte*>(span.data()), span.size()};
  }
  return message;
}

}  // namespace

RingLink::RingLink(std::int64_t rank, std::int64_t size, double timeout_seconds, RingConnections connections)
    : rank_(rank),
      size_(size),
      deadline_(timeout_seconds),
      control_(std::move(connections.control)),
      next_(std::move(connections.next)),
      previous_(std::move(connections.previous)) {
  make_room();
}

void RingLink::set_pairs(std::vector<Peer> pairs) {
  pairs_ = std::move(pairs);
  make_room();
}

// All that wait() will ever need: when it is first called is up to the other ranks.
void RingLink::make_room() {
  unexamined_.reserve(pairs_.size() + 1);
  watched_.reserve(pairs_.size() + 1);
  control_.append_poll_entries(entries_);
  entries_.reserve(entries_.size() + 3 + pairs_.size());
}

void RingLink::begin_operation(const OperationHeader& header) {
  operation_ = header;
  deadline_.restart();
  unexamined_.clear();
  unexamined_.push_back(&previous_);
  for (const Peer& pair : pairs_) {
    unexamined_.push_back(&pair);
  }
}

std::size_t RingLink::send(const Peer& peer, std::span<const std::span<const std::byte>> spans) {
  std::array<iovec, kMostSpans> vectors;
  const msghdr message = gather(spans, vectors);
  for (;;) {
    const ssize_t moved = sendmsg(peer.socket.descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved >= 0) {
      deadline_.restart();
      return static_cast<std::size_t>(moved);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    }
    if (errno != EINTR) {
      lost(peer, std::strerror(errno));
    }
  }
}

std::size_t RingLink::receive(const Peer& peer, std::span<const std::span<std::byte>> spans) {
  std::array<iovec, kMostSpans> vectors;
  msghdr message = gather(spans, vectors);
  for (;;) {
    const ssize_t moved = recvmsg(peer.socket.descriptor(), &message, MSG_DONTWAIT);
    if (moved > 0) {
      deadline_.restart();
      return static_cast<std::size_t>(moved);
    }
    if (moved == 0) {
      lost(peer, "it closed the connection");
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    }
    if (errno != EINTR) {
      lost(peer, std::strerror(errno));
    }
  }
}

void RingLink::wait(const Peer* to_send, const Peer* to_receive, const std::function<std::string()>& detail) {
  if (deadline_.passed()) {
    control_.check();
    control_.fail(fmt::format("rank {} waited {} s for rank {} in {}, {}", rank_, deadline_.seconds(),
                              (to_receive != nullptr ? to_receive : to_send)->rank, to_string(operation_), detail()));
  }
  entries_.clear();
  // A descriptor of -1 is passed over by poll; errors and hang-ups are reported without being asked for.
  entries_.push_back({to_send != nullptr ? to_send->socket.descriptor() : -1, POLLOUT, 0});
  entries_.push_back({to_receive != nullptr ? to_receive->socket.descriptor() : -1, POLLIN, 0});
  append_unawaited(to_receive);
  control_.append_poll_entries(entries_);
  poll(entries_.data(), entries_.size(), deadline_.poll_milliseconds());
  for (const pollfd& entry : std::span(entries_).subspan(2 + watched_.size())) {
    if (entry.revents != 0) {
      control_.check();
      break;
    }
  }
  for (std::size_t k = 0; k < watched_.size(); ++k) {
    if (entries_[2 + k].revents != 0) {
      std::erase(unexamined_, watched_[k]);
      require_same_operation(*watched_[k]);
    }
  }
}

void RingLink::append_unawaited(const Peer* to_receive) {
  watched_.clear();
  for (const Peer* peer : unexamined_) {
    if (peer != to_receive) {
      watched_.push_back(peer);
      entries_.push_back({peer->socket.descriptor(), POLLIN, 0});
    }
  }
}

// A peer that is ahead has begun a later operation, which is none of our business yet; one that has begun this one on a
// link where it has no place would otherwise be waited for until the deadline.
void RingLink::require_same_operation(const Peer& peer) {
  OperationHeader header;
  const ssize_t seen = recv(peer.socket.descriptor(), &header, sizeof header, MSG_PEEK | MSG_DONTWAIT);
  if (seen == static_cast<ssize_t>(sizeof header) && header.magic == operation_.magic &&
      header.sequence == operation_.sequence && header != operation_) {
    control_.fail(describe_difference(operation_, rank_, header, peer.rank));
  }
}

void RingLink::lost(const Peer& peer, const char* reason) {
  control_.fail_after_lost_link(
      fmt::format("rank {} lost the connection to rank {} in {}: {}", rank_, peer.rank, to_string(operation_), reason));
}

}  // namespace cerar
