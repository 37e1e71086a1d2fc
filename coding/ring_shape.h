#pragma once

#include <cstdint>
#include <vector>

namespace cerar {

/// Ring size and subdivision of the gradient. Everything else about the protocol's shape follows from these two.
struct RingShape {
  std::int64_t workers = 1;  ///< N >= 1
  std::int64_t chunks = 1;   ///< c >= N; the gradient is cut in c chunks of p = ceil(d / c) values, zero-padded

  /// L = c + N - 2: rounds of the protocol, each moving one chunk-sized vector over every link (paper, section II).
  [[nodiscard]] std::int64_t rounds() const noexcept { return chunks + workers - 2; }

  /// L / c: values sent per worker per gradient value. The exact ring, c = N, has 2 (N - 1) / N.
  [[nodiscard]] double rate() const noexcept { return static_cast<double>(rounds()) / static_cast<double>(chunks); }

  /// 2 (N - 1) / N: the rate of the exact ring on as many workers.
  [[nodiscard]] double exact_ring_rate() const noexcept {
    return 2 * static_cast<double>(workers - 1) / static_cast<double>(workers);
  }

  /// r* = ceil(c / N) - 1: the conditioning exponent, kappa_2 = Theta(eps^-r*) (paper, Corollary 1).
  [[nodiscard]] std::int64_t conditioning_exponent() const noexcept { return (chunks + workers - 1) / workers - 1; }

  friend bool operator==(const RingShape&, const RingShape&) = default;
};

/// More chunks than anyone cuts a gradient in, and few enough that no product of a shape's numbers overflows.
inline constexpr std::int64_t kMostChunks = 1'000'000'000;

/// Throws std::invalid_argument, naming the number, unless N >= 1 and N <= c <= kMostChunks.
void validate(const RingShape& shape);

/// `index` modulo `workers`, in [0, workers), also for negative indices: workers are numbered round the ring.
[[nodiscard]] constexpr std::int64_t wrap(std::int64_t index, std::int64_t workers) noexcept {
  const std::int64_t rest = index % workers;
  return rest < 0 ? rest + workers : rest;
}

/// 1 .. L.
[[nodiscard]] std::vector<std::int64_t> all_rounds(const RingShape& shape);

}  // namespace cerar
