#pragma once

#include <cstdint>
#include <span>

namespace cerar::bench {

/// Two sets of inputs, each a pure function of (seed, rank, index): every rank can make any part of any other's, so
/// that no check has to trust the ring that is being tested.
enum class InputSet {
  integers,   ///< whole numbers in [-16, 16]: sums of up to 2^19 of them are exact in float, whatever the order
  gradients,  ///< N(0, 1)
};

/// Standard deviation of the integers.
inline constexpr double kIntegersDeviation = 9.521904571390467;  // sqrt((33^2 - 1) / 12)

/// values[x] = input number `first` + x of rank `rank`; `first` is even.
/// @param correlation  rho in [0, 1) of any two ranks' gradients; integers have none
void fill_input(InputSet set, std::uint64_t seed, std::int64_t rank, std::int64_t first, std::span<float> values,
                double correlation = 0);

}  // namespace cerar::bench
