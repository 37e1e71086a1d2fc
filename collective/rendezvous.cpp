#include "collective/rendezvous.h"

#include "coding/ring_shape.h"
#include "collective/handshake.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cerar {

namespace {

/// Long enough for a rank on a host that is swapping, short enough not to be held up by every port scanner.
constexpr double kStrangerSeconds = 3;
constexpr int kRetryMilliseconds = 50;
/// How often rank 0 looks whether those it has met are still there.
constexpr int kVanishedMilliseconds = 200;
/// How much longer than rank 0 the others wait: it knows who is missing and why, and says so.
constexpr double kExplanationSeconds = 2;

Hello hello_of(const CommunicatorOptions& options, std::uint64_t data_port = 0) {
  return {options.rank, options.size, options.code ? hash(*options.code) : 0, data_port};
}

/// Connects until `deadline`: the peer may not be up yet. `check` is called between tries and throws to give up early.
template <class Check>
Socket connect_to(const Endpoint& endpoint, const Deadline& deadline, const std::string& who, Check check) {
  std::string reason;
  for (;;) {
    Socket socket = try_connect(endpoint, deadline, reason);
    if (socket.is_open()) {
      return socket;
    }
    check();
    if (deadline.passed()) {
      throw RingError(
          fmt::format("{} at {} within {} s (last reason: {})", who, to_string(endpoint), deadline.seconds(), reason));
    }
    wait_for(-1, 0, std::min(kRetryMilliseconds, deadline.poll_milliseconds()));
  }
}

/// Rank 0's side: collects the N-1 others and tells each where its successor listens.
class Host {
 public:
  explicit Host(const CommunicatorOptions& options)
      : options_(options), guests_(static_cast<std::size_t>(options.size)) {}

  struct Gathering {
    std::vector<Channel> channels;  ///< to ranks 1 .. N-1
    Endpoint next;                  ///< where rank 1 listens
  };

  Gathering gather(const Socket& listener, std::uint16_t my_data_port, const Deadline& deadline) {
    for (std::int64_t present = 1; present < options_.size;) {
      if (deadline.passed()) {
        refuse_all(missing_ranks(deadline));
      }
      present -= forget_vanished();
      Socket socket = accept_from(listener);
      if (socket.is_open()) {
        present += admit(std::move(socket)) ? 1 : 0;
      } else {
        wait_for(listener.descriptor(), POLLIN, std::min(deadline.poll_milliseconds(), kVanishedMilliseconds));
      }
    }
    return send_endpoints(my_data_port);
  }

 private:
  struct Guest {
    Channel channel;
    Endpoint data;
  };

  /// @return whether the connection is a rank of this job that was still missing
  bool admit(Socket socket) {
    Hello hello;
    const Endpoint remote = remote_endpoint(socket);
    try {
      hello = exchange_hellos(socket, HandshakeSide::acceptor, hello_of(options_), options_.secret,
                              Deadline(kStrangerSeconds));
    } catch (const StrangerError& error) {
      turned_away_ = fmt::format("{}: {}", to_string(remote), error.what());
      return false;
    }
    Channel channel(std::move(socket));
    try {
      require_same_job(hello_of(options_), hello);
    } catch (const RingError& error) {
      channel.send(Channel::Kind::abort, error.what());
      refuse_all(error.what());
    }
    auto& guest = guests_[static_cast<std::size_t>(hello.rank)];
    if (hello.rank == 0 || guest) {
      turned_away_ = fmt::format("{}: a second rank {}", to_string(remote), hello.rank);
      channel.send(Channel::Kind::abort,
                   fmt::format("rank {} of this job is taken; give every process a rank of its own", hello.rank));
      return false;
    }
    guest = Guest{std::move(channel), {remote.host, static_cast<std::uint16_t>(hello.data_port)}};
    return true;
  }

  /// A rank that ends while it waits for the others leaves its place to whoever starts it again.
  /// @return how many have vanished
  std::int64_t forget_vanished() {
    std::int64_t count = 0;
    for (auto& guest : guests_) {
      if (guest) {
        while (guest->channel.receive()) {
          // A rank says nothing before the ring is connected.
        }
        if (guest->channel.is_closed()) {
          guest.reset();
          ++count;
        }
      }
    }
    return count;
  }

  std::string missing_ranks(const Deadline& deadline) const {
    std::vector<std::int64_t> missing;
    for (std::int64_t rank = 1; rank < options_.size; ++rank) {
      if (!guests_[static_cast<std::size_t>(rank)]) {
        missing.push_back(rank);
      }
    }
    return fmt::format("rank 0 waited {} s at {}:{} and of {} workers did not meet rank {}{}", deadline.seconds(),
                       options_.master_host, options_.master_port, options_.size, fmt::join(missing, ", "),
                       turned_away_.empty() ? "" : fmt::format("; turned away {}", turned_away_));
  }

  [[noreturn]] void refuse_all(const std::string& sentence) {
    for (auto& guest : guests_) {
      if (guest) {
        guest->channel.send(Channel::Kind::abort, sentence);
      }
    }
    throw RingError(sentence);
  }

  Gathering send_endpoints(std::uint16_t my_data_port) {
    Gathering gathering{{}, guests_[1]->data};
    for (std::int64_t rank = 1; rank < options_.size; ++rank) {
      auto& guest = guests_[static_cast<std::size_t>(rank)];
      const std::int64_t next = wrap(rank + 1, options_.size);
      // Rank 0's own host stays empty: the others know it as the address they reached it at.
      const Endpoint successor = next == 0 ? Endpoint{"", my_data_port} : guests_[static_cast<std::size_t>(next)]->data;
      guest->channel.send(Channel::Kind::next_endpoint, fmt::format("{} {}", successor.port, successor.host));
    }
    for (std::int64_t rank = 1; rank < options_.size; ++rank) {
      gathering.channels.push_back(std::move(guests_[static_cast<std::size_t>(rank)]->channel));
    }
    return gathering;
  }

  const CommunicatorOptions& options_;
  std::vector<std::optional<Guest>> guests_;
  std::string turned_away_;
};

/// The other ranks' side: waits for rank 0 to say where the successor listens.
Endpoint await_next_endpoint(Channel& channel, const CommunicatorOptions& options) {
  const Deadline deadline(options.timeout_seconds + kExplanationSeconds);
  for (;;) {
    if (const auto message = channel.receive()) {
      if (message->kind == Channel::Kind::abort) {
        throw RingError(message->text);
      }
      const auto space = message->text.find(' ');
      Endpoint next{message->text.substr(space + 1),
                    static_cast<std::uint16_t>(std::stoul(message->text.substr(0, space)))};
      if (next.host.empty()) {
        next.host = options.master_host;
      }
      return next;
    }
    if (channel.is_closed()) {
      throw RingError(
          fmt::format("rank 0 closed the connection while rank {} waited for the other ranks: it has ended, or "
                      "gave up on this rank's slow handshake",
                      options.rank));
    }
    if (deadline.passed()) {
      throw RingError(fmt::format("rank {} waited {} s for rank 0 to gather all {} ranks", options.rank,
                                  deadline.seconds(), options.size));
    }
    wait_for(channel.socket().descriptor(), POLLIN, deadline.poll_milliseconds());
  }
}

}  // namespace

Peer accept_one_of(std::span<const std::int64_t> ranks, const Socket& listener, const CommunicatorOptions& options,
                   const Deadline& deadline, ControlPlane& control) {
  for (;;) {
    Socket socket = accept_from(listener);
    if (socket.is_open()) {
      try {
        const Hello hello = exchange_hellos(socket, HandshakeSide::acceptor, hello_of(options), options.secret,
                                            Deadline(kStrangerSeconds));
        if (std::ranges::find(ranks, hello.rank) != ranks.end()) {
          return {hello.rank, std::move(socket)};
        }
      } catch (const StrangerError&) {
        // Dropped; the neighbour is still to come.
      }
      continue;
    }
    control.check();
    if (deadline.passed()) {
      control.fail(fmt::format("rank {} waited {} s for rank {} to connect to it", options.rank, deadline.seconds(),
                               fmt::join(ranks, ", ")));
    }
    std::vector<pollfd> entries = {{listener.descriptor(), POLLIN, 0}};
    control.append_poll_entries(entries);
    poll(entries.data(), entries.size(), deadline.poll_milliseconds());
  }
}

Peer connect_rank(std::int64_t rank, const Endpoint& endpoint, const CommunicatorOptions& options,
                  const Deadline& deadline, ControlPlane& control) {
  try {
    Socket socket = connect_to(endpoint, deadline, fmt::format("rank {} cannot reach rank {}", options.rank, rank),
                               [&] { control.check(); });
    const Hello hello = exchange_hellos(socket, HandshakeSide::connector, hello_of(options), options.secret, deadline);
    if (hello.rank != rank) {
      throw RingError(fmt::format("rank {} met rank {} at {} where rank {} should be", options.rank, hello.rank,
                                  to_string(endpoint), rank));
    }
    return {rank, std::move(socket)};
  } catch (const StrangerError& error) {
    control.fail_after_lost_link(
        fmt::format("rank {} cannot join rank {} at {}: {}", options.rank, rank, to_string(endpoint), error.what()));
  } catch (const RingError& error) {
    control.fail(error.what());
  }
}

RingConnections rendezvous(const CommunicatorOptions& options) {
  const Deadline deadline(options.timeout_seconds);
  const Endpoint master{options.master_host, options.master_port};
  const std::array previous_rank = {wrap(options.rank - 1, options.size)};
  const std::int64_t next_rank = wrap(options.rank + 1, options.size);

  if (options.rank == 0) {
    const Socket listener = listen_on(master);
    const Socket data_listener = listen_on({local_endpoint(listener).host, 0});
    auto [channels, next_endpoint] = Host(options).gather(listener, local_endpoint(data_listener).port, deadline);
    ControlPlane control(0, std::move(channels));
    // Rank 0 accepts first and everyone else connects first: the handshakes then resolve round the ring, one by one.
    Peer previous = accept_one_of(previous_rank, data_listener, options, deadline, control);
    Peer next = connect_rank(next_rank, next_endpoint, options, deadline, control);
    return {std::move(control), std::move(next), std::move(previous)};
  }

  Socket socket = connect_to(master, deadline, fmt::format("rank {} cannot reach rank 0", options.rank), [] {});
  // Bound to the interface that leads to rank 0, and to no other.
  const Socket data_listener = listen_on({local_endpoint(socket).host, 0});
  const Hello mine = hello_of(options, local_endpoint(data_listener).port);
  try {
    require_same_job(mine, exchange_hellos(socket, HandshakeSide::connector, mine, options.secret, deadline));
  } catch (const StrangerError& error) {
    throw RingError(
        fmt::format("rank {} was not admitted by rank 0 at {}: {}", options.rank, to_string(master), error.what()));
  }
  std::vector<Channel> channels;
  channels.emplace_back(std::move(socket));
  const Endpoint next_endpoint = await_next_endpoint(channels.front(), options);
  ControlPlane control(options.rank, std::move(channels));
  Peer next = connect_rank(next_rank, next_endpoint, options, deadline, control);
  Peer previous = accept_one_of(previous_rank, data_listener, options, deadline, control);
  return {std::move(control), std::move(next), std::move(previous)};
}

}  // namespace cerar
