#pragma once

#include "collective/control.h"
#include "collective/deadline.h"
#include "collective/operation.h"
#include "collective/rendezvous.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cerar {

/// A rank's two ends of the ring, its pairs for recursive doubling once they are connected, and the waiting on them.
class RingLink {
 public:
  /// Most spans that go into one system call.
  static constexpr std::size_t kMostSpans = 16;

  RingLink(std::int64_t rank, std::int64_t size, double timeout_seconds, RingConnections connections);

  [[nodiscard]] std::int64_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] ControlPlane& control() noexcept { return control_; }
  [[nodiscard]] const Peer& next() const noexcept { return next_; }
  [[nodiscard]] const Peer& previous() const noexcept { return previous_; }

  /// In the order of doubling_partners(); empty until connect_pairs() has been called.
  [[nodiscard]] std::span<const Peer> pairs() const noexcept { return pairs_; }
  void set_pairs(std::vector<Peer> pairs);

  /// What waiting is for, in error sentences; restarts the deadline.
  void begin_operation(const OperationHeader& header);

  /// Moves what the kernel takes or has, of at most kMostSpans spans, without waiting.
  /// @return bytes moved, from the front; 0 if the link would block
  /// @throws RingError if the peer's end is closed
  std::size_t send(const Peer& peer, std::span<const std::span<const std::byte>> spans);
  std::size_t receive(const Peer& peer, std::span<const std::span<std::byte>> spans);

  /// Sleeps until a link can move what is wanted or the control plane has news.
  /// @param to_send, to_receive  peers on which something is wanted, nullptr for none
  /// @param detail  how far the operation is, for the sentence of a missed deadline
  /// @throws RingError if a rank has failed, is in another operation, or nothing has moved for the deadline
  void wait(const Peer* to_send, const Peer* to_receive, const std::function<std::string()>& detail);

 private:
  [[noreturn]] void lost(const Peer& peer, const char* reason);
  void make_room();
  void append_unawaited(const Peer* to_receive);
  void require_same_operation(const Peer& peer);

  std::int64_t rank_;
  std::int64_t size_;
  Deadline deadline_;
  ControlPlane control_;
  Peer next_;
  Peer previous_;
  std::vector<Peer> pairs_;
  OperationHeader operation_;
  std::vector<const Peer*> unexamined_;  ///< who may reveal by a header on another link that it is in another operation
  std::vector<const Peer*> watched_;     ///< those of them in `entries_`
  std::vector<pollfd> entries_;
};

}  // namespace cerar
