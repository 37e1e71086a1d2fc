#include "collective/switch_over.h"

#include <algorithm>

namespace cerar {

LinearTime LinearTime::through(double bytes, double seconds, double more_bytes, double more_seconds) noexcept {
  const double slope = std::max(0.0, (more_seconds - seconds) / (more_bytes - bytes));
  return {seconds - slope * bytes, slope};
}

std::int64_t switch_over_bytes(const LinearTime& doubling, const LinearTime& ring) noexcept {
  const double gained = ring.seconds - doubling.seconds;
  const double lost_per_byte = doubling.seconds_per_byte - ring.seconds_per_byte;
  if (lost_per_byte <= 0) {
    return gained >= 0 ? kNeverDoublingBytes : kAlwaysDoublingBytes;
  }
  const double bytes = gained / lost_per_byte;
  return static_cast<std::int64_t>(
      std::clamp(bytes, static_cast<double>(kAlwaysDoublingBytes), static_cast<double>(kNeverDoublingBytes)));
}

}  // namespace cerar
