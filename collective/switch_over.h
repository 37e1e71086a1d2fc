#pragma once

#include <cstdint>

namespace cerar {

/// The latency-bandwidth model of an all-reduce: its time as a function of the vector's bytes.
struct LinearTime {
  double seconds = 0;           ///< of an empty vector
  double seconds_per_byte = 0;  ///< of the vector

  /// Through two measured times, the second at more bytes; never falling.
  [[nodiscard]] static LinearTime through(double bytes, double seconds, double more_bytes,
                                          double more_seconds) noexcept;
};

/// Vectors of up to this many bytes are summed by recursive doubling whatever the network is like ...
inline constexpr std::int64_t kAlwaysDoublingBytes = 2048;
/// ... and beyond these by the ring: doubling sends log2 N times the vector and the ring at most twice.
inline constexpr std::int64_t kNeverDoublingBytes = 512 * 1024;

/// The largest vector in bytes, between the two limits, for which recursive doubling is no slower than the ring.
[[nodiscard]] std::int64_t switch_over_bytes(const LinearTime& doubling, const LinearTime& ring) noexcept;

}  // namespace cerar
