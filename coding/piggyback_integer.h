#pragma once

#include "coding/piggyback.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cerar {

// The int32 form of the piggyback ring (docs/piggyback.md, "Integer words"). A word is M_{g-1} + F_g: M_{g-1} the sum
// of the previous group in units of its own peak, F_g the partial sum of this group's contributions in steps that all
// workers know. Both are integers, so the leader's subtraction is exact and F_g does not depend on the order of
// summation.

/// What the design takes the largest value of a chunk's sum to be, in multiples of its rms: that of some thousand
/// normal numbers. Only the choice of d rests on it; the leader measures the peak.
inline constexpr double kIntegerPeak = 4;

/// eta of int32 words in the error law of the float form (docs/piggyback.md, eq. 5): rounding to steps of the peak over
/// 2^31, relative to the rms: kIntegerPeak 2^-31 / sqrt(12).
inline constexpr double kIntegerEta = kIntegerPeak * 0x1p-31 * 0.28867513459481287;

/// Sums must stay below this, far enough from the end of float32 that no intermediate value overflows.
inline constexpr double kIntegerSumLimit = 0x1p126;

/// The scales of one chunk (g, m), known to every worker before the first contribution to it is made.
struct IntegerScale {
  int sign = 1;          ///< of d
  double workers = 0;    ///< N
  double bound = 0;      ///< on the sum of |b_g| over any of the workers
  double curvature = 0;  ///< step^2 = curvature times the peak of group g - 1 balances both errors; 0 in group 0
  double mixed = 0;      ///< scale with which group g + 1 is mixed into the contributions; 0 for the last group

  /// Contributions are rounded to multiples of this; it has the sign of d, and is 0 only where all are zero.
  /// @param peak_before  of M_{g-1}, as it travels
  [[nodiscard]] double step(float peak_before) const noexcept;
};

/// Root mean square of a chunk of which the first `count` values are given and the rest are zero, rounded up: the
/// square root of `chunk_values` times it bounds every |a(x)|. The same bits on every processor. 0 only for zeros.
[[nodiscard]] float chunk_rms(const float* values, std::int64_t count, std::int64_t chunk_values);

/// The scales of a slice's c chunks from the rms of all workers' chunks. With them no word can overflow, whatever the
/// values are: sqrt(p) times the rms bounds them.
/// @param rms     rms[w stride + j]: chunk_rms of worker w's chunk j
/// @param sign    +1 or -1, of d
/// @param scales  become the c scales
void integer_scales(const PiggybackCode& code, std::span<const float> rms, std::int64_t stride,
                    std::int64_t chunk_values, int sign, std::vector<IntegerScale>& scales);

/// The peak as it travels: the least float >= `peak`.
/// @throws std::overflow_error if `peak` is kIntegerSumLimit or more
[[nodiscard]] float peak_on_the_wire(double peak);

/// 1 / scale, or 0 for 0: what is all zero takes part with zeros.
[[nodiscard]] inline double inverse_or_zero(double scale) noexcept { return scale == 0 ? 0 : 1 / scale; }

/// What a word of M_g stands for: its peak by the words that contributions to group g + 1 leave free.
/// @param peak  of M_g, as it travels
/// @param next  scale of chunk (g + 1, m), IntegerScale{} for the last group
[[nodiscard]] double integer_unit(float peak, const IntegerScale& next) noexcept;

/// The coefficients of decoding group g from words on which group g + 1 rides.
/// @param peak  of M_g
[[nodiscard]] PiggybackCoefficients integer_coefficients(std::int64_t role, std::int64_t workers,
                                                         const IntegerScale& scale, const IntegerScale& next,
                                                         float peak) noexcept;

/// `value`, of magnitude below 2^51, to the nearest integer, ties to even, in any vector unit: adding 1.5 2^52 leaves
/// no bits for a fraction.
[[nodiscard]] inline std::int32_t nearest_integer(double value) noexcept {
  return static_cast<std::int32_t>((value + 0x1.8p52) - 0x1.8p52);
}

}  // namespace cerar
