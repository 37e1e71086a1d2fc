#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cerar::netlab {

/// Bits a second of a text such as "1Gbit", "2.5Gbit", "100Mbit", "64kbit".
/// @throws std::invalid_argument saying what a rate looks like
[[nodiscard]] double parse_rate(std::string_view text);

/// "1Gbit", in the largest unit that leaves a number of at least 1.
[[nodiscard]] std::string to_string_of_rate(double bits_per_second);

/// Bytes that a link lets pass at once after a pause: what a millisecond brings, 64 KB at least and 512 KB at most.
[[nodiscard]] std::int64_t default_burst_bytes(double bits_per_second);

/// Payload bytes a second of TCP over Ethernet at this rate: of MTU + 14 bytes a frame has, MTU - 52 are payload
/// (IPv4 with TCP's timestamps); the frame's checksum, preamble and gap do not count towards the rate limit.
[[nodiscard]] double goodput_bytes_per_second(double bits_per_second, std::int64_t mtu);

/// What happens to a host's link while the command runs.
struct LinkEvent {
  double seconds = 0;  ///< after the start
  std::int64_t host = 0;
  enum class Change { down, up, rate } change = Change::down;
  double bits_per_second = 0;  ///< of Change::rate
};

/// SECONDS:HOST:down, up or a rate, e.g. "2:1:down".
/// @throws std::invalid_argument saying what an event looks like
[[nodiscard]] LinkEvent parse_event(std::string_view text, std::int64_t hosts);

}  // namespace cerar::netlab
