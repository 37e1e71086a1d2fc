#pragma once

#include "collective/communicator.h"
#include "collective/deadline.h"
#include "collective/socket.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// A connection that carries short typed messages: the rendezvous' answer, aborts and goodbyes.
class Channel {
 public:
  enum class Kind : std::uint32_t { next_endpoint = 1, abort = 2, goodbye = 3 };
  struct Message {
    Kind kind;
    std::string text;
  };

  Channel() = default;
  explicit Channel(Socket socket) : socket_(std::move(socket)) {}

  [[nodiscard]] const Socket& socket() const noexcept { return socket_; }
  /// Whether the peer has closed; messages sent before that have been returned by receive().
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  void close() noexcept;

  /// Best effort: gives up silently when the peer is gone or does not read for a second.
  void send(Kind kind, std::string_view text);

  /// The next message that has wholly arrived, without waiting.
  [[nodiscard]] std::optional<Message> receive();

 private:
  Socket socket_;
  std::vector<std::byte> unread_;
  bool closed_ = false;
};

/// The star of connections between rank 0 and every other rank that stays open beside the ring. A rank that dies is
/// noticed by rank 0, one that fails says why; rank 0 passes the first cause on to all, so that ranks far round the
/// ring name the culprit and not their neighbour. Served from inside collectives, by the thread that waits there.
class ControlPlane {
 public:
  /// @param peers  for rank 0, the channels to ranks 1 .. N-1 in order; for every other rank, the one to rank 0
  ControlPlane(std::int64_t rank, std::vector<Channel> peers);

  /// Appends what to watch beside one's own descriptors.
  void append_poll_entries(std::vector<pollfd>& entries) const;

  /// Reads whatever has arrived, without waiting.
  /// @throws RingError if a rank has failed or vanished
  void check();

  /// Tells everyone `sentence`, and throws it.
  [[noreturn]] void fail(const std::string& sentence);

  /// A neighbour's link has closed, which may be only a consequence of something further away: waits for the control
  /// plane to name the cause, and falls back on `sentence` after a few seconds.
  [[noreturn]] void fail_after_lost_link(const std::string& sentence);

  /// Throws the failure again if there was one: a failed communicator is of no further use.
  void require_intact() const;

  /// From now on this rank's disappearance is no failure.
  void say_goodbye() noexcept;

 private:
  struct Peer {
    std::int64_t rank;
    Channel channel;
    bool has_left = false;
  };

  void broadcast_abort(std::string_view sentence);
  [[noreturn]] void throw_failure(const std::string& sentence);

  std::int64_t rank_;
  std::vector<Peer> peers_;
  std::optional<std::string> failure_;
};

}  // namespace cerar
