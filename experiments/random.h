#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace cerar {

/// Random numbers that are the same on every machine: the engine is fixed by the standard, the distributions of
/// <random> are not.
class PortableRandom {
 public:
  /// Streams of the same seed are independent of each other, e.g. one for each worker and epoch.
  explicit PortableRandom(std::uint64_t seed, std::uint64_t stream = 0) : engine_(mix(mix(seed) + stream)) {}

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  /// Uniform in [0, bound), without bias; bound >= 1.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t reject = (0 - bound) % bound;  // 2^64 mod bound
    std::uint64_t value = engine_();
    while (value < reject) {
      value = engine_();
    }
    return value % bound;
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(i)]);
    }
  }

 private:
  /// Finaliser of splitmix64: neighbouring seeds give unrelated engines.
  static std::uint64_t mix(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }

  std::mt19937_64 engine_;
};

}  // namespace cerar
