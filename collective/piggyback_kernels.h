#pragma once

#include <cstddef>
#include <cstdint>

namespace cerar {

// The piggyback ring's inner loops (docs/piggyback.md), each product and sum rounded to float and never contracted:
// they give the bits of coding/piggyback_reference.h on every processor. Each loop does all that a round does with a
// chain, in place, since memory is what it waits for. The vectors of one call hold n values and do not overlap.

/// The chunks of one chain that a worker touches in pass g.
struct ChainWindow {
  float* before;      ///< group g - 2: y without the own part of eq. 4, becomes S; null in pass 1
  float* known;       ///< group g - 1: what will come back of the own rounding, becomes y without the own part of eq. 4
  float* own;         ///< group g: a, becomes what will come back of this pass's rounding
  const float* next;  ///< group g + 1: a; null for the last group
};

/// S_{g-1} = y_{g-1} - (own a_g + next y_g) and b_g = a_g + premix a_{g+1}.
struct ChainCoefficients {
  float premix;
  float own;
  float next;
  float superposed;          ///< s_g
  float inverse_superposed;  ///< 1 / s_g
};

/// Pass 0: message += b_0; `starts`: message = b_0. `own` is a_0, `next` a_1.
void add_contribution(bool starts, const float* own, const float* next, float premix, std::size_t n, float* message);

/// Pass g >= 1 of all but the leader: learns y_{g-1} and S_{g-2} from the message, then message += s_g b_g.
/// @param next_before  the coefficient `next` of the pass before
void superpose(const ChainWindow& chain, const ChainCoefficients& c, float next_before, std::size_t n, float* message);

/// Pass g >= 1 of the leader: message = M_g = (message - M_{g-1}) / s_g + b_g. Here `known` is M_{g-1} and becomes
/// S_{g-1}, `own` becomes M_g; `before` is not used.
void lead(const ChainWindow& chain, const ChainCoefficients& c, std::size_t n, float* message);

/// Pass q, after the last group: `known` and `before` as superpose has them.
void read_last(const float* message, float next_before, std::size_t n, float* known, float* before);

/// Asks the memory for a vector that is going to be read; does not wait for it.
void fetch(const float* vector, std::size_t n) noexcept;

/// l1_norm of the reference, its very bits.
[[nodiscard]] float l1_norm_of(const float* values, std::int64_t count);

}  // namespace cerar
