#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cerar {

/// What a rank's thread is at. Together with what lies between them (bookkeeping) the phases make up an operation.
enum class Phase : std::uint8_t {
  check,    ///< looking for NaN and infinity
  encode,   ///< combining own chunks, measuring them for their scale
  prepare,  ///< making the message to send, in the rounds in which nothing of one's own has come back: round 1's, and
            ///< those made of an arrival by adding to it
  update,   ///< work on an arrival in all other rounds: removing, storing, adding, and thereby the next message
  decode,
  send,     ///< in the system call that hands bytes to the kernel
  receive,  ///< in the system call that takes bytes from the kernel
  wait,     ///< asleep in poll: the link or a neighbour is slower than this rank
};
inline constexpr std::size_t kPhases = 8;

[[nodiscard]] std::string_view name(Phase phase) noexcept;

/// How closely a communicator watches itself.
enum class Profiling {
  off,    ///< no clock is read but at the beginning and the end of an operation
  times,  ///< Statistics::phase_seconds
  trace,  ///< these, and every phase and message as a TraceEvent
};

/// What happened on one of a rank's tracks, from `begin_ns` to `end_ns` of CLOCK_MONOTONIC. Events of a track do not
/// overlap.
struct TraceEvent {
  enum class Track : std::uint8_t {
    work,      ///< the thread, in `phase`
    link_out,  ///< a message from when it was ready and all before it had left until the kernel had all of it
    link_in,   ///< a message from when there was room for it and all before it had come until all of it had come
  };

  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t operation = 0;  ///< sequence number: Statistics::operations when it began
  std::int64_t slice = -1;     ///< -1 where several are meant: system calls and waiting
  std::int32_t round = 0;      ///< 1 .. L, the message's or the arrival's; 0 before the first arrival
  Track track = Track::work;
  Phase phase = Phase::check;  ///< only of Track::work
};

}  // namespace cerar
