#include "collective/control.h"

#include <fmt/core.h>

#include <array>
#include <cstring>
#include <span>

namespace cerar {

namespace {

struct Frame {
  std::uint32_t kind;
  std::uint32_t length;
};

/// Longer texts are cut on sending and taken for damage on receipt.
constexpr std::size_t kLongestText = 4096;
constexpr double kSendSeconds = 1;
/// How long a rank whose link has closed waits to be told of the cause.
constexpr double kCauseSeconds = 3;

}  // namespace

void Channel::close() noexcept {
  socket_.close();
  closed_ = true;
}

void Channel::send(Kind kind, std::string_view text) {
  text = text.substr(0, kLongestText);
  const Frame frame{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(text.size())};
  std::vector<std::byte> bytes(sizeof frame + text.size());
  std::memcpy(bytes.data(), &frame, sizeof frame);
  std::memcpy(bytes.data() + sizeof frame, text.data(), text.size());
  std::span<const std::byte> rest = bytes;
  const Deadline deadline(kSendSeconds);
  while (!closed_ && !rest.empty()) {
    const Transfer outcome = send_some(socket_, rest);
    if (outcome == Transfer::closed || (outcome == Transfer::would_block && deadline.passed())) {
      return;
    }
    if (outcome == Transfer::would_block) {
      wait_for(socket_.descriptor(), POLLOUT, deadline.poll_milliseconds());
    }
  }
}

std::optional<Channel::Message> Channel::receive() {
  std::array<std::byte, 4096> buffer;
  while (!closed_) {
    std::span<std::byte> rest = buffer;
    const Transfer outcome = receive_some(socket_, rest);
    if (outcome == Transfer::would_block) {
      break;
    }
    if (outcome == Transfer::closed) {
      close();
      break;
    }
    unread_.insert(unread_.end(), buffer.begin(), buffer.end() - static_cast<std::ptrdiff_t>(rest.size()));
  }
  Frame frame{};
  if (unread_.size() < sizeof frame) {
    return std::nullopt;
  }
  std::memcpy(&frame, unread_.data(), sizeof frame);
  if (frame.length > kLongestText) {
    close();
    return std::nullopt;
  }
  const std::size_t whole = sizeof frame + frame.length;
  if (unread_.size() < whole) {
    return std::nullopt;
  }
  Message message{static_cast<Kind>(frame.kind),
                  std::string(reinterpret_cast<const char*>(unread_.data() + sizeof frame), frame.length)};
  unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(whole));
  return message;
}

ControlPlane::ControlPlane(std::int64_t rank, std::vector<Channel> peers) : rank_(rank) {
  std::int64_t peer_rank = rank == 0 ? 1 : 0;
  for (Channel& channel : peers) {
    peers_.push_back({peer_rank++, std::move(channel)});
  }
}

void ControlPlane::append_poll_entries(std::vector<pollfd>& entries) const {
  for (const Peer& peer : peers_) {
    if (!peer.channel.is_closed()) {
      entries.push_back({peer.channel.socket().descriptor(), POLLIN, 0});
    }
  }
}

void ControlPlane::check() {
  require_intact();
  std::optional<std::string> told;
  std::optional<std::int64_t> vanished;
  for (Peer& peer : peers_) {
    const bool was_closed = peer.channel.is_closed();
    bool said_why = false;
    while (const auto message = peer.channel.receive()) {
      if (message->kind == Channel::Kind::goodbye) {
        peer.has_left = true;
      } else if (message->kind == Channel::Kind::abort) {
        said_why = true;
        told = told.value_or(message->text);
      }
    }
    if (!was_closed && peer.channel.is_closed() && !peer.has_left && !said_why && !vanished) {
      vanished = peer.rank;
    }
  }
  // A rank that vanished without a word is the cause; what others tell of it is a consequence.
  if (vanished) {
    fail(fmt::format("rank {} has vanished: its process ended without leaving the job", *vanished));
  }
  if (told) {
    if (rank_ == 0) {
      broadcast_abort(*told);
    }
    throw_failure(*told);
  }
}

void ControlPlane::fail(const std::string& sentence) {
  broadcast_abort(sentence);
  throw_failure(sentence);
}

void ControlPlane::fail_after_lost_link(const std::string& sentence) {
  const Deadline deadline(kCauseSeconds);
  while (!deadline.passed()) {
    check();
    std::vector<pollfd> entries;
    append_poll_entries(entries);
    if (entries.empty()) {
      break;
    }
    poll(entries.data(), entries.size(), deadline.poll_milliseconds());
  }
  fail(sentence);
}

void ControlPlane::require_intact() const {
  if (failure_) {
    throw RingError(*failure_);
  }
}

void ControlPlane::say_goodbye() noexcept {
  for (Peer& peer : peers_) {
    peer.channel.send(Channel::Kind::goodbye, "");
  }
}

void ControlPlane::broadcast_abort(std::string_view sentence) {
  for (Peer& peer : peers_) {
    peer.channel.send(Channel::Kind::abort, sentence);
  }
}

void ControlPlane::throw_failure(const std::string& sentence) {
  failure_ = sentence;
  throw RingError(sentence);
}

}  // namespace cerar
