#include "collective/piggyback_integer_kernels.h"

#include "coding/piggyback_integer.h"
#include "collective/vectorised.h"

#include <algorithm>
#include <cmath>

namespace cerar {

namespace {

[[gnu::always_inline]] inline double contribution(double own, double next, double premix) {
  return own + next * premix;
}

/// `kHasSent`, `kHasBefore`: whether that vector is there; a test in the loop would cost more than the work.
template <bool kHasSent>
[[gnu::always_inline]] inline double led(const LedSum& sum, std::size_t x) {
  const std::int32_t others = kHasSent ? sum.heard[x] - sum.sent[x] : sum.heard[x];
  return static_cast<double>(others) * sum.own.step +
         contribution(static_cast<double>(sum.own.own[x]), static_cast<double>(sum.own.next[x]), sum.own.premix);
}

template <bool kHasSent>
[[gnu::always_inline]] inline double peak(const LedSum& given, std::size_t n) {
  constexpr std::size_t kLanes = 16;
  const LedSum sum = given;
  double peaks[kLanes] = {};
  const std::size_t whole = n / kLanes * kLanes;
  for (std::size_t x = 0; x < whole; x += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      const double value = std::abs(led<kHasSent>(sum, x + k));
      peaks[k] = value > peaks[k] ? value : peaks[k];
    }
  }
  for (std::size_t x = whole; x < n; ++x) {
    peaks[0] = std::max(peaks[0], std::abs(led<kHasSent>(sum, x)));
  }
  return *std::max_element(peaks, peaks + kLanes);
}

template <bool kHasSent>
[[gnu::always_inline]] inline void write(const LedSum& given, double inverse_unit, std::size_t n,
                                         std::int32_t* __restrict out) {
  const LedSum sum = given;
  for (std::size_t x = 0; x < n; ++x) {
    out[x] = nearest_integer(led<kHasSent>(sum, x) * inverse_unit);
  }
}

template <bool kHasBefore>
[[gnu::always_inline]] inline void learn(const IntegerDecoding& decoding, double now_value, double sum, float* now,
                                         float* before, std::size_t x) {
  if constexpr (kHasBefore) {
    before[x] = static_cast<float>(static_cast<double>(before[x]) - (now_value * decoding.own + sum * decoding.next));
  }
  now[x] = static_cast<float>(sum);
}

template <bool kHasBefore>
[[gnu::always_inline]] inline void learn_all(const IntegerDecoding& given, const IntegerContribution& mine,
                                             float* __restrict now, float* __restrict before, std::size_t n) {
  const IntegerDecoding decoding = given;
  const double premix = mine.premix;
  const double step = mine.step;
  const double inverse_step = mine.inverse_step;
  // Null where there is nothing to mix: then mine.next is `now` itself, which __restrict would not allow.
  const float* __restrict next = premix == 0 ? nullptr : mine.next;
  const auto one = [&](std::size_t x, double mixed) {
    const auto own = static_cast<double>(now[x]);
    const double b = own + mixed;
    const double lost = b - static_cast<double>(nearest_integer(b * inverse_step)) * step;
    learn<kHasBefore>(decoding, own, static_cast<double>(decoding.words[x]) * decoding.unit + lost, now, before, x);
  };
  if (next == nullptr) {
    for (std::size_t x = 0; x < n; ++x) {
      one(x, 0.0);
    }
  } else {
    for (std::size_t x = 0; x < n; ++x) {
      one(x, static_cast<double>(next[x]) * premix);
    }
  }
}

template <bool kHasBefore>
[[gnu::always_inline]] inline void learn_all_led(const IntegerDecoding& given, float* __restrict now,
                                                 float* __restrict before, std::size_t n) {
  const IntegerDecoding decoding = given;
  for (std::size_t x = 0; x < n; ++x) {
    learn<kHasBefore>(decoding, static_cast<double>(now[x]), static_cast<double>(decoding.words[x]) * decoding.unit,
                      now, before, x);
  }
}

}  // namespace

CERAR_VECTORISED void add_steps(const std::int32_t* __restrict heard, const IntegerContribution& b, std::size_t n,
                                std::int32_t* __restrict out) {
  const IntegerContribution mine = b;
  if (heard == nullptr) {
    std::fill_n(out, n, 0);
  } else {
    std::copy_n(heard, n, out);
  }
  for (std::size_t x = 0; x < n; ++x) {
    out[x] +=
        nearest_integer(contribution(static_cast<double>(mine.own[x]), static_cast<double>(mine.next[x]), mine.premix) *
                        mine.inverse_step);
  }
}

CERAR_VECTORISED double peak_of(const LedSum& sum, std::size_t n) {
  return sum.sent == nullptr ? peak<false>(sum, n) : peak<true>(sum, n);
}

CERAR_VECTORISED void write_words(const LedSum& sum, double inverse_unit, std::size_t n, std::int32_t* out) {
  if (sum.sent == nullptr) {
    write<false>(sum, inverse_unit, n, out);
  } else {
    write<true>(sum, inverse_unit, n, out);
  }
}

CERAR_VECTORISED void learn_words(const IntegerDecoding& decoding, const IntegerContribution& mine, float* now,
                                  float* before, std::size_t n) {
  if (before == nullptr) {
    learn_all<false>(decoding, mine, now, before, n);
  } else {
    learn_all<true>(decoding, mine, now, before, n);
  }
}

CERAR_VECTORISED void learn_led_words(const IntegerDecoding& decoding, float* now, float* before, std::size_t n) {
  if (before == nullptr) {
    learn_all_led<false>(decoding, now, before, n);
  } else {
    learn_all_led<true>(decoding, now, before, n);
  }
}

}  // namespace cerar
