#pragma once

#include "collective/deadline.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace cerar {

/// An owned TCP socket: non-blocking, close-on-exec, without Nagle's delay.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) noexcept : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(); }

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  void close() noexcept;

 private:
  int descriptor_ = -1;
};

/// A numeric address and port; `host` is an IPv4 or IPv6 literal or, as an argument, a name to resolve.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

/// "host:port", with brackets round an IPv6 literal.
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

/// Listens on `endpoint` (port 0: any free one), reachable through that address only.
/// @throws RingError naming host, port and the system's reason, e.g. that the port is in use
[[nodiscard]] Socket listen_on(const Endpoint& endpoint);

/// One try to connect, over every address the name resolves to. A connection that turns out to be to itself (TCP's
/// simultaneous open on an ephemeral port) is dropped and counts as a failure.
/// @return an unopened Socket and `reason` set if it failed
[[nodiscard]] Socket try_connect(const Endpoint& endpoint, const Deadline& deadline, std::string& reason);

/// The next pending connection of a listening socket, or an unopened Socket if there is none.
[[nodiscard]] Socket accept_from(const Socket& listener);

[[nodiscard]] Endpoint local_endpoint(const Socket& socket);
[[nodiscard]] Endpoint remote_endpoint(const Socket& socket);

/// Whether the socket is connected to itself: getsockname == getpeername.
[[nodiscard]] bool is_self_connected(const Socket& socket);

/// What one non-blocking transfer did.
enum class Transfer { moved, would_block, closed };

/// Sends or receives as much of `bytes` as the kernel takes or has, and shortens `bytes` by it. EINTR is retried.
/// `closed`: the peer has closed or reset the connection.
[[nodiscard]] Transfer send_some(const Socket& socket, std::span<const std::byte>& bytes);
[[nodiscard]] Transfer receive_some(const Socket& socket, std::span<std::byte>& bytes);

/// Sleeps in poll(2) for at most `milliseconds` or until `descriptor` is ready for `events`. EINTR counts as ready.
void wait_for(int descriptor, short events, int milliseconds);

}  // namespace cerar
