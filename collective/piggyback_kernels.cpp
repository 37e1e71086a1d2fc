#include "collective/piggyback_kernels.h"

#include "collective/vectorised.h"

#include <algorithm>

namespace cerar {

// __restrict tells the compiler what the header promises of overlap, so that it need not check.

CERAR_VECTORISED void add_contribution(const float* __restrict heard, const Contribution& b, std::size_t n,
                                       float* __restrict out) {
  const float* __restrict own = b.own;
  const float* __restrict next = b.next;
  const float premix = b.premix;
  if (next == nullptr) {
    std::copy_n(own, n, out);
  } else {
    for (std::size_t x = 0; x < n; ++x) {
      out[x] = own[x] + next[x] * premix;
    }
  }
  if (heard != nullptr) {
    for (std::size_t x = 0; x < n; ++x) {
      out[x] = heard[x] + out[x];
    }
  }
}

namespace {

/// TwoSum (Knuth): rounding = (a + b) - fl(a + b), exactly.
[[gnu::always_inline]] inline float two_sum(float a, float b, float& rounding) {
  const float sum = a + b;
  const float second = sum - a;
  const float first = sum - second;
  rounding = (a - first) + (b - second);
  return sum;
}

}  // namespace

CERAR_VECTORISED void superpose(const float* __restrict heard, const Contribution& b, float d, std::size_t n,
                                float* __restrict out, float* __restrict rounding) {
  const float* __restrict own = b.own;
  const float* __restrict next = b.next;
  const float premix = b.premix;
  if (next == nullptr) {
    for (std::size_t x = 0; x < n; ++x) {
      out[x] = two_sum(heard[x], own[x] * d, rounding[x]);
    }
  } else {
    for (std::size_t x = 0; x < n; ++x) {
      out[x] = two_sum(heard[x], (own[x] + next[x] * premix) * d, rounding[x]);
    }
  }
}

CERAR_VECTORISED void lead(const float* __restrict heard, const float* __restrict sent, float inverse_d,
                           const Contribution& b, std::size_t n, float* __restrict out) {
  const float* __restrict own = b.own;
  const float* __restrict next = b.next;
  const float premix = b.premix;
  if (next == nullptr) {
    for (std::size_t x = 0; x < n; ++x) {
      out[x] = (heard[x] - sent[x]) * inverse_d + own[x];
    }
  } else {
    for (std::size_t x = 0; x < n; ++x) {
      out[x] = (heard[x] - sent[x]) * inverse_d + (own[x] + next[x] * premix);
    }
  }
}

CERAR_VECTORISED void learn_heard(const float* __restrict heard, const float* __restrict rounding, float inverse_d,
                                  const Decoding& decoding, float* __restrict now, float* __restrict before,
                                  std::size_t n) {
  const float own = decoding.own;
  const float next = decoding.next;
  for (std::size_t x = 0; x < n; ++x) {
    const float sum = heard[x] + rounding[x] * inverse_d;
    before[x] -= now[x] * own + sum * next;
    now[x] = sum;
  }
}

CERAR_VECTORISED void learn_led(const float* __restrict sum, const Decoding& decoding, float* __restrict now,
                                float* __restrict before, std::size_t n) {
  const float own = decoding.own;
  const float next = decoding.next;
  for (std::size_t x = 0; x < n; ++x) {
    before[x] -= now[x] * own + sum[x] * next;
    now[x] = sum[x];
  }
}

}  // namespace cerar
