#pragma once

#include <cstddef>
#include <span>

namespace cerar {

/// One term of a linear combination of float vectors.
struct Term {
  const float* vector = nullptr;
  float coefficient = 0;
};

// Every kernel rounds each product and each sum to float, in the order of its terms and without contraction, so that it
// agrees to the bit with the sequential reference (coding/reference.h) on every processor.

/// out[x] = (...(a_0 v_0[x] + a_1 v_1[x]) + ...) for x < n; 0 without terms. `out` overlaps none of the vectors.
void combine(std::span<const Term> terms, std::size_t n, float* out);

/// out[x] = own[x] + combine(terms)[x]; `out` may be `own`.
void combine_onto(const float* own, std::span<const Term> terms, std::size_t n, float* out);

/// out[x] = a[x] + b[x]; `out` may be `a` or `b`.
void add(const float* a, const float* b, std::size_t n, float* out);

/// out[x] = a[x] - b[x]; `out` may be `a` or `b`.
void subtract(const float* a, const float* b, std::size_t n, float* out);

/// The index of the first value that is NaN or infinite, or values.size() if all are finite.
[[nodiscard]] std::size_t first_nonfinite(std::span<const float> values);

}  // namespace cerar
