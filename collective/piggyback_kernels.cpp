#include "collective/piggyback_kernels.h"

#include "coding/piggyback_reference.h"
#include "collective/kernels.h"
#include "collective/vectorised.h"

#include <algorithm>

namespace cerar {

namespace {

// __restrict tells the compiler what the header promises of overlap, so that it need not check. The template arguments
// say which vectors are there; a test in the loop would cost more than the work.

template <bool kHasNext>
[[gnu::always_inline]] inline float contribution(const float* own, const float* next, float premix, std::size_t x) {
  if constexpr (kHasNext) {
    return own[x] + next[x] * premix;
  }
  return own[x];
}

/// Fast2Sum (Dekker): rounding = (a + b) - fl(a + b), exactly where |a| >= |b|; else within the rounding of b.
[[gnu::always_inline]] inline float fast_two_sum(float a, float b, float& rounding) {
  const float sum = a + b;
  rounding = b - (sum - a);
  return sum;
}

/// The range [0, n) in two pieces, work(first, last), so that in the second `vector` lies at a multiple of a cache
/// line. Where all vectors of a call lie alike, no access of a vector register then touches two lines.
template <class Work>
[[gnu::always_inline]] inline void in_aligned_pieces(const float* vector, std::size_t n, const Work& work) {
  const std::size_t head = std::min(n, values_to_alignment(vector));
  work(std::size_t{0}, head);
  work(head, n);
}

template <bool kStarts>
[[gnu::always_inline]] inline void add_all(const float* __restrict own, const float* __restrict next, float premix,
                                           std::size_t first, std::size_t last, float* __restrict message) {
  for (std::size_t x = first; x < last; ++x) {
    const float b = contribution<true>(own, next, premix, x);
    message[x] = kStarts ? b : message[x] + b;
  }
}

template <bool kHasBefore, bool kHasNext>
[[gnu::always_inline]] inline void superpose_all(const ChainWindow& chain, const ChainCoefficients& given,
                                                 float next_before, std::size_t first, std::size_t last,
                                                 float* __restrict message) {
  const ChainCoefficients c = given;
  float* __restrict before = chain.before;
  float* __restrict known = chain.known;
  float* __restrict own = chain.own;
  const float* __restrict next = chain.next;
  for (std::size_t x = first; x < last; ++x) {
    const float heard = message[x];
    float sum = heard;
    if constexpr (kHasBefore) {
      sum += known[x];
      before[x] -= sum * next_before;
    }
    known[x] = sum - own[x] * c.own;
    float rounding = 0;
    message[x] = fast_two_sum(heard, contribution<kHasNext>(own, next, c.premix, x) * c.superposed, rounding);
    own[x] = rounding * c.inverse_superposed;
  }
}

template <bool kHasNext>
[[gnu::always_inline]] inline void lead_all(const ChainWindow& chain, const ChainCoefficients& given, std::size_t first,
                                            std::size_t last, float* __restrict message) {
  const ChainCoefficients c = given;
  float* __restrict known = chain.known;
  float* __restrict own = chain.own;
  const float* __restrict next = chain.next;
  for (std::size_t x = first; x < last; ++x) {
    const float sum = (message[x] - known[x]) * c.inverse_superposed + contribution<kHasNext>(own, next, c.premix, x);
    known[x] = known[x] - own[x] * c.own - sum * c.next;
    own[x] = sum;
    message[x] = sum;
  }
}

}  // namespace

void fetch(const float* vector, std::size_t n) noexcept {
  for (std::size_t x = 0; x < n; x += kLineValues) {
    __builtin_prefetch(vector + x);
  }
}

CERAR_VECTORISED void add_contribution(bool starts, const float* own, const float* next, float premix, std::size_t n,
                                       float* message) {
  in_aligned_pieces(message, n, [&](std::size_t first, std::size_t last) {
    if (starts) {
      add_all<true>(own, next, premix, first, last, message);
    } else {
      add_all<false>(own, next, premix, first, last, message);
    }
  });
}

CERAR_VECTORISED void superpose(const ChainWindow& chain, const ChainCoefficients& c, float next_before, std::size_t n,
                                float* message) {
  in_aligned_pieces(message, n, [&](std::size_t first, std::size_t last) {
    if (chain.before == nullptr) {
      if (chain.next == nullptr) {
        superpose_all<false, false>(chain, c, next_before, first, last, message);
      } else {
        superpose_all<false, true>(chain, c, next_before, first, last, message);
      }
    } else if (chain.next == nullptr) {
      superpose_all<true, false>(chain, c, next_before, first, last, message);
    } else {
      superpose_all<true, true>(chain, c, next_before, first, last, message);
    }
  });
}

CERAR_VECTORISED void lead(const ChainWindow& chain, const ChainCoefficients& c, std::size_t n, float* message) {
  in_aligned_pieces(message, n, [&](std::size_t first, std::size_t last) {
    if (chain.next == nullptr) {
      lead_all<false>(chain, c, first, last, message);
    } else {
      lead_all<true>(chain, c, first, last, message);
    }
  });
}

CERAR_VECTORISED void read_last(const float* __restrict message, float next_before, std::size_t n,
                                float* __restrict known, float* __restrict before) {
  for (std::size_t x = 0; x < n; ++x) {
    known[x] += message[x];
    before[x] -= known[x] * next_before;
  }
}

CERAR_VECTORISED float l1_norm_of(const float* values, std::int64_t count) { return l1_norm(values, count); }

}  // namespace cerar
