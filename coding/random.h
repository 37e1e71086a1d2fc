#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace cerar {

/// Independent N(0, 1) numbers that are the same for a seed with every standard library (std::normal_distribution is
/// not): mt19937_64, whose sequence the standard fixes, and Box and Muller's transform.
class NormalGenerator {
 public:
  explicit NormalGenerator(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] double operator()() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  /// In (0, 1], from the upper 53 bits.
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 1) * 0x1p-53; }

  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace cerar
