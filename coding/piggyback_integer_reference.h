#pragma once

#include "coding/matrix.h"
#include "coding/piggyback_integer.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace cerar {

/// What travels on a link: a chunk's words and the peak of the sum in them, p + 1 words of 32 bits.
struct IntegerMessage {
  float peak = 0;  ///< of M_{g-1}; 0 in pass 0
  std::vector<std::int32_t> words;
};

/// Sees message (t, i, message) as worker i sends it in round t.
using IntegerObserver = std::function<void(std::int64_t, std::int64_t, const IntegerMessage&)>;

/// The int32 form of the piggyback ring, one round after the other, all N workers in one process: the readable twin
/// that the executor is tested against, to the bit.
///
/// @param gradients  G_0 .. G_{N-1}, each p x c, p >= 0, finite
/// @param sign       +1 or -1, of d
/// @return the sums that each worker ends with, each p x c
/// @throws std::invalid_argument if a shape does not fit the code's or the code is for other words;
///         std::overflow_error if a sum is kIntegerSumLimit or more
[[nodiscard]] Matrices<float> piggyback_integer_reference(const PiggybackCode& code, const Matrices<float>& gradients,
                                                          int sign = 1, const IntegerObserver& observe = {});

}  // namespace cerar
