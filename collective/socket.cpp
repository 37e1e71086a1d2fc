#include "collective/socket.h"

#include "collective/communicator.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cerar {

namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Every stream address of `endpoint`, or none and the resolver's reason.
AddressList resolve(const Endpoint& endpoint, bool passive, std::string& reason) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int status = getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (status != 0) {
    reason = fmt::format("the name does not resolve ({})", gai_strerror(status));
    return {nullptr, &freeaddrinfo};
  }
  return {found, &freeaddrinfo};
}

Socket open_socket(const addrinfo& address) {
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (!socket.is_open()) {
    throw RingError(fmt::format("cannot open a TCP socket: {}", std::strerror(errno)));
  }
  return socket;
}

void disable_delay(const Socket& socket) {
  const int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

template <class Query>
Endpoint endpoint_of(const Socket& socket, Query query) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (query(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return {};
  }
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "0";
  getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, static_cast<std::uint16_t>(std::stoul(port))};
}

Transfer outcome_of_error() {
  return errno == EAGAIN || errno == EWOULDBLOCK ? Transfer::would_block : Transfer::closed;
}

}  // namespace

void Socket::close() noexcept {
  if (is_open()) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
}

std::string to_string(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
                 : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

Socket listen_on(const Endpoint& endpoint) {
  std::string reason;
  const AddressList addresses = resolve(endpoint, true, reason);
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Socket socket = open_socket(*address);
    const int on = 1;
    setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(socket.descriptor(), address->ai_addr, address->ai_addrlen) == 0 &&
        listen(socket.descriptor(), SOMAXCONN) == 0) {
      return socket;
    }
    reason = errno == EADDRINUSE ? "the port is in use; choose another, or end the program that holds it"
             : errno == EADDRNOTAVAIL
                 ? "this host has no such address; rank 0 must run on the host that MASTER_ADDR names"
                 : std::strerror(errno);
  }
  throw RingError(fmt::format("cannot listen on {}: {}", to_string(endpoint), reason));
}

Socket try_connect(const Endpoint& endpoint, const Deadline& deadline, std::string& reason) {
  const AddressList addresses = resolve(endpoint, false, reason);
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Socket socket = open_socket(*address);
    int error = connect(socket.descriptor(), address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS || error == EINTR) {
      wait_for(socket.descriptor(), POLLOUT, std::min(deadline.poll_milliseconds(), 2000));
      socklen_t length = sizeof error;
      getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
      if (error == 0 && remote_endpoint(socket).port == 0) {
        error = ETIMEDOUT;
      }
    }
    if (error != 0) {
      reason = std::strerror(error);
    } else if (is_self_connected(socket)) {
      reason = "the connection was to itself";
    } else {
      disable_delay(socket);
      return socket;
    }
  }
  return {};
}

Socket accept_from(const Socket& listener) {
  for (;;) {
    Socket socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.is_open()) {
      disable_delay(socket);
      return socket;
    }
    if (errno != EINTR && errno != ECONNABORTED) {
      return {};
    }
  }
}

Endpoint local_endpoint(const Socket& socket) { return endpoint_of(socket, &getsockname); }

Endpoint remote_endpoint(const Socket& socket) { return endpoint_of(socket, &getpeername); }

bool is_self_connected(const Socket& socket) {
  const Endpoint local = local_endpoint(socket);
  const Endpoint remote = remote_endpoint(socket);
  return local.port == remote.port && local.host == remote.host;
}

Transfer send_some(const Socket& socket, std::span<const std::byte>& bytes) {
  ssize_t moved = -1;
  do {
    moved = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (moved < 0 && errno == EINTR);
  if (moved < 0) {
    return outcome_of_error();
  }
  bytes = bytes.subspan(static_cast<std::size_t>(moved));
  return Transfer::moved;
}

Transfer receive_some(const Socket& socket, std::span<std::byte>& bytes) {
  ssize_t moved = -1;
  do {
    moved = recv(socket.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (moved < 0 && errno == EINTR);
  if (moved < 0) {
    return outcome_of_error();
  }
  if (moved == 0) {
    return Transfer::closed;
  }
  bytes = bytes.subspan(static_cast<std::size_t>(moved));
  return Transfer::moved;
}

void wait_for(int descriptor, short events, int milliseconds) {
  pollfd entry{descriptor, events, 0};
  poll(&entry, 1, milliseconds);
}

}  // namespace cerar
