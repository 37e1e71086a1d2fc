#pragma once

#include <cstddef>
#include <span>

namespace cerar {

// The piggyback ring's inner loops (docs/piggyback.md), each product and sum rounded to float and never contracted:
// they give the bits of coding/piggyback_reference.h on every processor. Output and input vectors of one call do not
// overlap.

/// b_g = a_g + premix a_{g+1}; `next` is null for the last group, then b_g = a_g.
struct Contribution {
  const float* own;
  const float* next;
  float premix;
};

/// S_g = y_g - (own a_{g+1} + next S_{g+1}).
struct Decoding {
  float own;
  float next;
};

/// out = heard + b; `heard` null: out = b.
void add_contribution(const float* heard, const Contribution& b, std::size_t n, float* out);

/// out = heard + d b, and what that addition has rounded off, exactly.
void superpose(const float* heard, const Contribution& b, float d, std::size_t n, float* out, float* rounding);

/// out = (heard - sent) / d + b.
void lead(const float* heard, const float* sent, float inverse_d, const Contribution& b, std::size_t n, float* out);

/// y = heard + rounding / d; before -= own now + next y; now = y.
/// @param now     a_g, becomes y_g
/// @param before  y_{g-1}, becomes S_{g-1}
void learn_heard(const float* heard, const float* rounding, float inverse_d, const Decoding& decoding, float* now,
                 float* before, std::size_t n);

/// The same for the leader, who knows its sum: before -= own now + next sum; now = sum.
void learn_led(const float* sum, const Decoding& decoding, float* now, float* before, std::size_t n);

}  // namespace cerar
