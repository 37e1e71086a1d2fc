#include "coding/piggyback_integer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace cerar {

namespace {

/// What contributions may take of the words: sums of at most 2^30, so that at least half the words are left for M.
constexpr double kMostRiding = 0x1p30;

float round_up(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) >= value ? nearest
                                               : std::nextafter(nearest, std::numeric_limits<float>::infinity());
}

}  // namespace

float chunk_rms(const float* values, std::int64_t count, std::int64_t chunk_values) {
  constexpr std::int64_t kLanes = 16;
  std::array<double, kLanes> sums{};
  const std::int64_t whole = count / kLanes * kLanes;
  for (std::int64_t x = 0; x < whole; x += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      const auto value = static_cast<double>(values[x + k]);
      sums[static_cast<std::size_t>(k)] += value * value;
    }
  }
  for (std::int64_t x = whole; x < count; ++x) {
    const auto value = static_cast<double>(values[x]);
    sums[static_cast<std::size_t>(x - whole)] += value * value;
  }
  double sum = 0;
  for (const double lane : sums) {
    sum += lane;
  }
  return sum == 0 ? 0.0F : round_up(std::sqrt(sum / static_cast<double>(chunk_values)));
}

void integer_scales(const PiggybackCode& code, std::span<const float> rms, std::int64_t stride,
                    std::int64_t chunk_values, int sign, std::vector<IntegerScale>& scales) {
  const std::int64_t workers = code.shape.workers;
  const auto n = static_cast<double>(workers);
  const double alike = 1 + (n - 1) * code.noise.correlation;
  // A little more than sqrt(p): the rounding of all that follows.
  const double most_of_rms = std::sqrt(static_cast<double>(chunk_values)) * (1 + 1e-9);
  scales.assign(static_cast<std::size_t>(code.shape.chunks), {});
  const double mixing = kIntegerPeak * 0x1p-31;
  for (std::int64_t chain = 0; chain < workers; ++chain) {
    IntegerScale* after = nullptr;  // of group g + 1, and the rms and the largest values that it was made from
    double rms_after = 0;
    double bound_after = 0;
    for (std::int64_t group = code.groups() - 1; group >= 0; --group) {
      const std::int64_t chunk = group * workers + chain;
      double squares = 0;
      double sum = 0;
      for (std::int64_t worker = 0; worker < workers; ++worker) {
        const auto one = static_cast<double>(rms[static_cast<std::size_t>(worker * stride + chunk)]);
        squares += one * one;
        sum += one;
      }
      const double rms_now = std::sqrt(squares * alike);
      const double bound_now = sum * most_of_rms;
      IntegerScale& scale = scales[static_cast<std::size_t>(chunk)];
      scale.sign = sign;
      scale.workers = n;
      if (after != nullptr) {
        // A peak of kappa rms instead of kIntegerPeak wants steps larger by the square root of their ratio.
        const double coarse = mixing * rms_after / code.d;
        after->curvature = coarse * coarse * inverse_or_zero(kIntegerPeak * rms_now);
        scale.mixed = mixing * rms_now * inverse_or_zero(sign * std::max(coarse, after->bound / kMostRiding));
      }
      // Premix coefficients are at most half of `mixed`.
      scale.bound = bound_now + std::abs(scale.mixed) / 2 * bound_after;
      after = &scale;
      rms_after = rms_now;
      bound_after = bound_now;
    }
  }
}

double IntegerScale::step(float peak_before) const noexcept {
  return sign * std::max(std::sqrt(curvature * static_cast<double>(peak_before)), bound / kMostRiding);
}

double integer_unit(float peak, const IntegerScale& next) noexcept {
  // Each of N contributions is rounded by at most one half.
  const double riding = std::ceil(next.bound * std::abs(inverse_or_zero(next.step(peak)))) + next.workers;
  return static_cast<double>(peak) / (0x1p31 - 1 - riding);
}

PiggybackCoefficients integer_coefficients(std::int64_t role, std::int64_t workers, const IntegerScale& scale,
                                           const IntegerScale& next, float peak) noexcept {
  return piggyback_coefficients(role, workers, scale.mixed,
                                integer_unit(peak, next) * inverse_or_zero(next.step(peak)));
}

float peak_on_the_wire(double peak) {
  if (!(peak < kIntegerSumLimit)) {
    throw std::overflow_error(fmt::format(
        "a sum of {:.3g} is beyond the {:.3g} that the piggyback ring carries in i32 words; scale the gradients "
        "down, or fit the code with --wire f32",
        peak, kIntegerSumLimit));
  }
  return round_up(peak);
}

}  // namespace cerar
