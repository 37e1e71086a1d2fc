#pragma once

#include <algorithm>
#include <chrono>

namespace cerar {

/// A point in time after which waiting has failed.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(double seconds)
      : seconds_(seconds),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  /// The same length of time again from now on: called whenever something has moved.
  void restart() { *this = Deadline(seconds_); }

  [[nodiscard]] bool passed() const { return Clock::now() >= end_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

  /// What is left, for poll(2): at least 1 ms before the end so that the last wait cannot spin, 0 after it.
  [[nodiscard]] int poll_milliseconds() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, 1'000'000));
  }

 private:
  double seconds_;
  Clock::time_point end_;
};

}  // namespace cerar
