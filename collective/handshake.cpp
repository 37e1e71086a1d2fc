#include "collective/handshake.h"

#include <fmt/core.h>
#include <sodium.h>

#include <array>
#include <bit>
#include <cstring>
#include <poll.h>
#include <span>

namespace cerar {

namespace {

static_assert(std::endian::native == std::endian::little, "the wire carries little-endian words");

constexpr std::array<char, 8> kMagic = {'C', 'E', 'R', 'A', 'R', 'i', 'n', 'g'};
constexpr std::uint64_t kProtocolVersion = 1;

struct Greeting {
  std::array<char, 8> magic = kMagic;
  std::uint64_t version = kProtocolVersion;
  std::array<unsigned char, 16> nonce{};
};

struct Proof {
  Hello hello;
  std::array<unsigned char, crypto_generichash_BYTES> tag{};
};

void send_all(const Socket& socket, std::span<const std::byte> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const Transfer outcome = send_some(socket, bytes);
    if (outcome == Transfer::closed) {
      throw StrangerError("the peer closed the connection during the handshake");
    }
    if (outcome == Transfer::would_block) {
      if (deadline.passed()) {
        throw StrangerError("the peer did not read during the handshake");
      }
      wait_for(socket.descriptor(), POLLOUT, deadline.poll_milliseconds());
    }
  }
}

void receive_all(const Socket& socket, std::span<std::byte> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const Transfer outcome = receive_some(socket, bytes);
    if (outcome == Transfer::closed) {
      throw StrangerError("the peer closed the connection during the handshake");
    }
    if (outcome == Transfer::would_block) {
      if (deadline.passed()) {
        throw StrangerError("the peer was silent during the handshake");
      }
      wait_for(socket.descriptor(), POLLIN, deadline.poll_milliseconds());
    }
  }
}

/// Keyed BLAKE2b over who speaks, both nonces (the speaker's first) and the hello.
auto authenticate(const Hello& hello, HandshakeSide speaker, const Greeting& speakers, const Greeting& listeners,
                  const std::string& secret) {
  std::array<unsigned char, crypto_generichash_KEYBYTES> key{};
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
                     nullptr, 0);
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), key.size(), crypto_generichash_BYTES);
  const auto label = static_cast<unsigned char>(speaker);
  crypto_generichash_update(&state, &label, 1);
  crypto_generichash_update(&state, speakers.nonce.data(), speakers.nonce.size());
  crypto_generichash_update(&state, listeners.nonce.data(), listeners.nonce.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&hello), sizeof hello);
  std::array<unsigned char, crypto_generichash_BYTES> tag{};
  crypto_generichash_final(&state, tag.data(), tag.size());
  sodium_memzero(key.data(), key.size());
  return tag;
}

}  // namespace

Hello exchange_hellos(const Socket& socket, HandshakeSide side, const Hello& mine, const std::string& secret,
                      const Deadline& deadline) {
  if (sodium_init() < 0) {
    throw RingError("libsodium could not start: the system offers no random numbers");
  }
  Greeting my_greeting;
  randombytes_buf(my_greeting.nonce.data(), my_greeting.nonce.size());
  Greeting their_greeting;
  send_all(socket, std::as_bytes(std::span(&my_greeting, 1)), deadline);
  receive_all(socket, std::as_writable_bytes(std::span(&their_greeting, 1)), deadline);
  if (their_greeting.magic != kMagic) {
    throw StrangerError("what is at the other end does not speak CERAR's protocol");
  }
  if (their_greeting.version != kProtocolVersion) {
    throw RingError(
        fmt::format("protocol versions differ: {} here, {} there; install the same version of CERAR on every host",
                    kProtocolVersion, their_greeting.version));
  }

  Proof my_proof{mine, authenticate(mine, side, my_greeting, their_greeting, secret)};
  Proof their_proof;
  send_all(socket, std::as_bytes(std::span(&my_proof, 1)), deadline);
  receive_all(socket, std::as_writable_bytes(std::span(&their_proof, 1)), deadline);
  const HandshakeSide other_side =
      side == HandshakeSide::connector ? HandshakeSide::acceptor : HandshakeSide::connector;
  const auto expected = authenticate(their_proof.hello, other_side, their_greeting, my_greeting, secret);
  if (sodium_memcmp(their_proof.tag.data(), expected.data(), expected.size()) != 0) {
    throw StrangerError("the job secrets differ; give every rank of the job the same CERAR_SECRET");
  }
  return their_proof.hello;
}

void require_same_job(const Hello& mine, const Hello& theirs) {
  if (mine.size != theirs.size) {
    throw RingError(fmt::format("world sizes differ: rank {} has {}, rank {} has {}", mine.rank, mine.size, theirs.rank,
                                theirs.size));
  }
  if (theirs.rank < 0 || theirs.rank >= theirs.size) {
    throw RingError(fmt::format("rank {} is outside a job of {} workers", theirs.rank, theirs.size));
  }
  if (mine.code_hash != theirs.code_hash) {
    throw RingError(fmt::format(
        "codes differ: rank {} has the code with hash {:016x}, rank {} {:016x} (0: none); give every rank the same "
        "code file",
        mine.rank, mine.code_hash, theirs.rank, theirs.code_hash));
  }
}

}  // namespace cerar
