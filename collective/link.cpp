#include "collective/link.h"

#include "coding/ring_shape.h"

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
      next_(wrap(rank + 1, size)),
      previous_(wrap(rank - 1, size)),
      deadline_(timeout_seconds),
      connections_(std::move(connections)) {}

void RingLink::begin_operation(std::string description) {
  operation_ = std::move(description);
  deadline_.restart();
}

std::size_t RingLink::send(std::span<const std::span<const std::byte>> spans) {
  std::array<iovec, kMostSpans> vectors;
  const msghdr message = gather(spans, vectors);
  for (;;) {
    const ssize_t moved = sendmsg(connections_.to_next.descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved >= 0) {
      deadline_.restart();
      return static_cast<std::size_t>(moved);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    }
    if (errno != EINTR) {
      lost(next_, std::strerror(errno));
    }
  }
}

std::size_t RingLink::receive(std::span<const std::span<std::byte>> spans) {
  std::array<iovec, kMostSpans> vectors;
  msghdr message = gather(spans, vectors);
  for (;;) {
    const ssize_t moved = recvmsg(connections_.from_previous.descriptor(), &message, MSG_DONTWAIT);
    if (moved > 0) {
      deadline_.restart();
      return static_cast<std::size_t>(moved);
    }
    if (moved == 0) {
      lost(previous_, "it closed the connection");
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    }
    if (errno != EINTR) {
      lost(previous_, std::strerror(errno));
    }
  }
}

void RingLink::wait(bool to_send, bool to_receive, const std::function<std::string()>& detail) {
  if (deadline_.passed()) {
    connections_.control.check();
    connections_.control.fail(fmt::format("rank {} waited {} s for rank {} in {}, {}", rank_, deadline_.seconds(),
                                          to_receive ? previous_ : next_, operation_, detail()));
  }
  entries_.clear();
  // A descriptor of -1 is passed over by poll; errors and hang-ups are reported without being asked for.
  entries_.push_back({to_send ? connections_.to_next.descriptor() : -1, POLLOUT, 0});
  entries_.push_back({to_receive ? connections_.from_previous.descriptor() : -1, POLLIN, 0});
  connections_.control.append_poll_entries(entries_);
  poll(entries_.data(), entries_.size(), deadline_.poll_milliseconds());
  for (const pollfd& entry : std::span(entries_).subspan(2)) {
    if (entry.revents != 0) {
      connections_.control.check();
      break;
    }
  }
}

void RingLink::lost(std::int64_t neighbour, const char* reason) {
  connections_.control.fail_after_lost_link(
      fmt::format("rank {} lost the connection to rank {} in {}: {}", rank_, neighbour, operation_, reason));
}

}  // namespace cerar
