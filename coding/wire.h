#pragma once

#include "coding/noise.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace cerar {

/// What the words of a coded ring are (docs/theory.md, "Wires").
struct Wire {
  std::string_view name;  ///< as options and code files have it
  NoiseEntry noise;       ///< where its rounding enters
  int bits;               ///< of a word
  int fraction_bits;      ///< of its mantissa, without the leading one; 0 for integers

  [[nodiscard]] constexpr bool is_integer() const noexcept { return fraction_bits == 0; }

  /// Integer words: an encoding is rounded to one of -levels .. levels, which is as far as the sum of N of them is
  /// certain to fit in a word, whatever they are.
  [[nodiscard]] constexpr std::int64_t levels(std::int64_t workers) const noexcept {
    return ((std::int64_t{1} << (bits - 1)) - 1) / workers;
  }
};

/// Peak to root mean square, over everything that is encoded, that the step of integer words is designed for: that of
/// some million normal numbers (docs/theory.md, "Wires").
inline constexpr double kEncodingPeak = 4.9;

/// f32, f16, bf16, i16, i32.
[[nodiscard]] const std::vector<std::string_view>& wire_names();

/// @throws std::invalid_argument listing the known names
[[nodiscard]] const Wire& find_wire(std::string_view name);

/// Where the wire's rounding enters: f32 at every operation, f16 and bf16 at every hop, i16 and i32 once, when an
/// encoding is quantised.
/// @throws std::invalid_argument listing the known names
[[nodiscard]] NoiseEntry noise_entry_of(std::string_view wire);

/// eta (docs/theory.md, "Error and noise model", "Wires"). Floating point: the rms relative error of rounding one
/// result to the wire's scalar. Integers: that of rounding an encoding to the step that all ranks share, relative to
/// the largest encoding's rms.
/// @param workers  N: integer words keep room for the sum of N encodings
/// @throws std::invalid_argument listing the known names, or if the sum of N words of one step does not fit
[[nodiscard]] double wire_eta(std::string_view wire, std::int64_t workers);

}  // namespace cerar
