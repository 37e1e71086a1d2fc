#pragma once

#include "coding/code.h"

#include <string>
#include <string_view>

namespace cerar::cli {

// What the tables of all kinds of code share, a line each with its newline.

/// Gradient values that all workers of a report's simulation have together: enough for half a percent of statistical
/// error, few enough for well under a second.
inline constexpr std::int64_t simulated_total = 200'000;

[[nodiscard]] std::string report_line(std::string_view name, const std::string& value, const std::string& remark = {});

/// "0.0158 %" for 1.58e-4.
[[nodiscard]] std::string percent(double value);

/// Rounds and rate, each against the exact ring's.
[[nodiscard]] std::string ring_lines(const RingShape& shape);

/// What a code was designed for.
[[nodiscard]] std::string noise_line(const NoiseModel& noise);

}  // namespace cerar::cli
