#include "experiments/bench/inputs.h"

#include <cmath>
#include <numbers>
#include <vector>

namespace cerar::bench {

namespace {

/// splitmix64's finaliser: a hash of a counter is as good as a random number here, and can start anywhere.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The rank that nobody is: its gradients are what correlated ones have in common.
constexpr std::int64_t kCommon = -1;

void fill_independent(InputSet set, std::uint64_t seed, std::int64_t rank, std::int64_t first,
                      std::span<float> values) {
  const std::uint64_t stream = mix(seed ^ mix(static_cast<std::uint64_t>(rank)));
  // One hash makes a pair of values.
  for (std::size_t x = 0; x < values.size(); x += 2) {
    const std::uint64_t bits = mix(stream + static_cast<std::uint64_t>(first) / 2 + x / 2);
    const auto low = static_cast<std::uint32_t>(bits);
    const auto high = static_cast<std::uint32_t>(bits >> 32);
    float pair[2];
    if (set == InputSet::integers) {
      pair[0] = static_cast<float>(static_cast<int>(low % 33) - 16);
      pair[1] = static_cast<float>(static_cast<int>(high % 33) - 16);
    } else {
      // Box and Muller's transform; the half keeps the logarithm's argument off zero.
      const float radius = std::sqrt(-2 * std::log((static_cast<float>(low >> 8) + 0.5F) * 0x1p-24F));
      const float angle = 2 * std::numbers::pi_v<float> * (static_cast<float>(high >> 8) * 0x1p-24F);
      pair[0] = radius * std::cos(angle);
      pair[1] = radius * std::sin(angle);
    }
    values[x] = pair[0];
    if (x + 1 < values.size()) {
      values[x + 1] = pair[1];
    }
  }
}

}  // namespace

void fill_input(InputSet set, std::uint64_t seed, std::int64_t rank, std::int64_t first, std::span<float> values,
                double correlation) {
  fill_independent(set, seed, rank, first, values);
  if (set == InputSet::integers || correlation == 0) {
    return;
  }
  std::vector<float> common(values.size());
  fill_independent(set, seed, kCommon, first, common);
  const auto own_part = static_cast<float>(std::sqrt(1 - correlation));
  const auto common_part = static_cast<float>(std::sqrt(correlation));
  for (std::size_t x = 0; x < values.size(); ++x) {
    values[x] = own_part * values[x] + common_part * common[x];
  }
}

}  // namespace cerar::bench
