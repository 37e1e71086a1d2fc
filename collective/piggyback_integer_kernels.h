#pragma once

#include <cstddef>
#include <cstdint>

namespace cerar {

// The inner loops of the piggyback ring's int32 form: the bits of coding/piggyback_integer_reference.h on every
// processor. Arithmetic is in double, without contraction. Output and input vectors of one call do not overlap.

/// b_g = a_g + premix a_{g+1}, and the steps to which it is rounded. For the last group `next` is `own`, premix 0.
struct IntegerContribution {
  const float* own;
  const float* next;
  double premix;
  double step;
  double inverse_step;  ///< 0 for step 0
};

/// What a leader sums: `heard` holds F_g besides the words `sent` a pass ago, null in pass 0.
struct LedSum {
  const std::int32_t* heard;
  const std::int32_t* sent;
  IntegerContribution own;
};

/// out = heard + b in steps; `heard` null: out = b in steps.
void add_steps(const std::int32_t* heard, const IntegerContribution& b, std::size_t n, std::int32_t* out);

/// The largest magnitude of the finished sum.
[[nodiscard]] double peak_of(const LedSum& sum, std::size_t n);

/// out = the finished sum in units.
void write_words(const LedSum& sum, double inverse_unit, std::size_t n, std::int32_t* out);

/// y = words in units; S_{g-1} = y_{g-1} - (own a_g + next y).
struct IntegerDecoding {
  const std::int32_t* words;
  double unit;
  double own;
  double next;
};

/// y += what the own contribution `mine` has lost in rounding; before -= own now + next y; now = y.
/// @param now     a_g, becomes y_g; may be mine.own or mine.next
/// @param before  y_{g-1}, becomes S_{g-1}; null for group 0
void learn_words(const IntegerDecoding& decoding, const IntegerContribution& mine, float* now, float* before,
                 std::size_t n);

/// The same for the leader, whose contribution has lost nothing.
void learn_led_words(const IntegerDecoding& decoding, float* now, float* before, std::size_t n);

}  // namespace cerar
