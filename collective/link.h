#pragma once

#include "collective/control.h"
#include "collective/deadline.h"
#include "collective/rendezvous.h"
#include "collective/socket.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace cerar {

/// A rank's two ends of the ring, and the waiting between them.
class RingLink {
 public:
  /// Most spans that go into one system call.
  static constexpr std::size_t kMostSpans = 16;

  RingLink(std::int64_t rank, std::int64_t size, double timeout_seconds, RingConnections connections);

  [[nodiscard]] ControlPlane& control() noexcept { return connections_.control; }
  [[nodiscard]] std::int64_t next() const noexcept { return next_; }
  [[nodiscard]] std::int64_t previous() const noexcept { return previous_; }

  /// What waiting is for, in error sentences, e.g. "operation 5, all_reduce (coded) of 1000 values"; restarts the
  /// deadline.
  void begin_operation(std::string description);

  /// Moves what the kernel takes or has, of at most kMostSpans spans, without waiting.
  /// @return bytes moved, from the front; 0 if the link would block
  /// @throws RingError if the neighbour's end is closed
  std::size_t send(std::span<const std::span<const std::byte>> spans);
  std::size_t receive(std::span<const std::span<std::byte>> spans);

  /// Sleeps until the link can move what is wanted or the control plane has news.
  /// @param detail  how far the operation is, for the sentence of a missed deadline
  /// @throws RingError if a rank has failed, or nothing has moved for the deadline
  void wait(bool to_send, bool to_receive, const std::function<std::string()>& detail);

 private:
  [[noreturn]] void lost(std::int64_t neighbour, const char* reason);

  std::int64_t rank_;
  std::int64_t next_;
  std::int64_t previous_;
  Deadline deadline_;
  RingConnections connections_;
  std::string operation_;
  std::vector<pollfd> entries_;
};

}  // namespace cerar
