#include "collective/socket.h"

#include "collective/communicator.h"
#include "collective/control.h"
#include "collective/handshake.h"
#include "tests/collective/ring_of_processes.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <arpa/inet.h>
#include <cstring>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

namespace cerar {

namespace {

/// A socket bound to a port and connected to that very port: TCP's simultaneous open joins it to itself.
Socket connect_to_itself() {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(testing::free_port());
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(bind(socket.descriptor(), plain, sizeof address) == 0);
  REQUIRE(connect(socket.descriptor(), plain, sizeof address) == 0);
  return socket;
}

struct Pair {
  Socket connector;
  Socket acceptor;
};

Pair connected_pair() {
  const Socket listener = listen_on({"127.0.0.1", 0});
  std::string reason;
  Socket connector = try_connect(local_endpoint(listener), Deadline(5), reason);
  REQUIRE_MESSAGE(connector.is_open(), reason);
  wait_for(listener.descriptor(), POLLIN, 5000);
  return {std::move(connector), accept_from(listener)};
}

/// Both sides of a handshake; an error's text stands in for the hello.
std::pair<std::string, std::string> shake_hands(const Hello& connector, const Hello& acceptor,
                                                const std::string& connector_secret,
                                                const std::string& acceptor_secret) {
  const Pair pair = connected_pair();
  const auto side = [](const Socket& socket, HandshakeSide which, const Hello& mine, const std::string& secret) {
    try {
      const Hello theirs = exchange_hellos(socket, which, mine, secret, Deadline(5));
      require_same_job(mine, theirs);
      return fmt::format("met rank {}", theirs.rank);
    } catch (const RingError& error) {
      return std::string(error.what());
    }
  };
  auto other = std::async(std::launch::async, side, std::cref(pair.acceptor), HandshakeSide::acceptor,
                          std::cref(acceptor), std::cref(acceptor_secret));
  std::string mine = side(pair.connector, HandshakeSide::connector, connector, connector_secret);
  return {std::move(mine), other.get()};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a socket that is connected to itself is recognised") {
  CHECK(is_self_connected(connect_to_itself()));
  const Pair pair = connected_pair();
  CHECK_FALSE(is_self_connected(pair.connector));
  CHECK_FALSE(is_self_connected(pair.acceptor));
}

TEST_CASE("connecting to a port nobody listens on fails with the reason and no self-connection") {
  // Ephemeral ports, where the kernel may pick the destination as the source, many times over.
  const std::uint16_t port = testing::free_port();
  for (int k = 0; k < 2000; ++k) {
    std::string reason;
    const Socket socket = try_connect({"127.0.0.1", port}, Deadline(1), reason);
    REQUIRE_FALSE(socket.is_open());
    REQUIRE_FALSE(reason.empty());
  }
}

TEST_CASE("a port in use is named") {
  const Socket listener = listen_on({"127.0.0.1", 0});
  const std::string port = std::to_string(local_endpoint(listener).port);
  try {
    (void)listen_on({"127.0.0.1", local_endpoint(listener).port});
    FAIL("the port was given twice");
  } catch (const RingError& error) {
    CHECK(contains(error.what(), "127.0.0.1:" + port));
    CHECK(contains(error.what(), "in use"));
  }
}

TEST_CASE("IPv6 endpoints are written with brackets and work") {
  CHECK(to_string(Endpoint{"::1", 80}) == "[::1]:80");
  const Socket listener = listen_on({"::1", 0});
  std::string reason;
  CHECK_MESSAGE(try_connect(local_endpoint(listener), Deadline(5), reason).is_open(), reason);
}

TEST_CASE("a handshake introduces both sides") {
  const auto [connector, acceptor] = shake_hands({1, 4, 7, 0}, {0, 4, 7, 0}, "secret", "secret");
  CHECK(connector == "met rank 0");
  CHECK(acceptor == "met rank 1");
}

TEST_CASE("a handshake tells both sides what differs") {
  SUBCASE("the secret") {
    const auto [connector, acceptor] = shake_hands({1, 4, 7, 0}, {0, 4, 7, 0}, "secret", "Secret");
    CHECK(contains(connector, "secrets differ"));
    CHECK(contains(acceptor, "secrets differ"));
  }
  SUBCASE("the world size") {
    const auto [connector, acceptor] = shake_hands({1, 4, 7, 0}, {0, 8, 7, 0}, "", "");
    for (const std::string& text : {connector, acceptor}) {
      CHECK(contains(text, "world sizes differ"));
      CHECK(contains(text, "4"));
      CHECK(contains(text, "8"));
    }
  }
  SUBCASE("the code") {
    const auto [connector, acceptor] = shake_hands({1, 4, 0xabc, 0}, {0, 4, 0xdef, 0}, "", "");
    for (const std::string& text : {connector, acceptor}) {
      CHECK(contains(text, "codes differ"));
      CHECK(contains(text, "0000000000000abc"));
      CHECK(contains(text, "0000000000000def"));
    }
  }
}

TEST_CASE("whoever speaks another protocol, or nothing, is a stranger") {
  const Pair pair = connected_pair();
  std::string request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: a stranger\r\n\r\n";
  SUBCASE("HTTP") {
    std::span<const std::byte> bytes = std::as_bytes(std::span(request));
    CHECK(send_some(pair.connector, bytes) == Transfer::moved);
  }
  SUBCASE("silence") {}
  CHECK_THROWS_AS((void)exchange_hellos(pair.acceptor, HandshakeSide::acceptor, {0, 2, 0, 0}, "", Deadline(0.3)),
                  StrangerError);
}

TEST_CASE("control messages arrive whole and in order, also after the sender has closed") {
  Pair pair = connected_pair();
  Channel receiver(std::move(pair.acceptor));
  {
    Channel sender(std::move(pair.connector));
    sender.send(Channel::Kind::next_endpoint, "4711 ::1");
    sender.send(Channel::Kind::abort, std::string(10000, 'x'));
    sender.send(Channel::Kind::goodbye, "");
  }
  std::vector<Channel::Message> messages;
  const Deadline deadline(5);
  while (messages.size() < 3 && !deadline.passed()) {
    if (auto message = receiver.receive()) {
      messages.push_back(*message);
    } else {
      wait_for(receiver.socket().descriptor(), POLLIN, 100);
    }
  }
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].text == "4711 ::1");
  CHECK(messages[1].kind == Channel::Kind::abort);
  CHECK(messages[1].text.size() >= 1000);
  CHECK(messages[2].kind == Channel::Kind::goodbye);
  CHECK_FALSE(receiver.receive().has_value());
  CHECK(receiver.is_closed());
}

}  // namespace cerar
