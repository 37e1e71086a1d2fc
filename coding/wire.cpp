#include "coding/wire.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace cerar {
namespace {

constexpr std::array<Wire, 5> wires = {{
    {"f32", NoiseEntry::operations, 32, 23},
    {"f16", NoiseEntry::hops, 16, 10},
    {"bf16", NoiseEntry::hops, 16, 7},
    {"i16", NoiseEntry::quantised, 16, 0},
    {"i32", NoiseEntry::quantised, 32, 0},
}};

}  // namespace

const std::vector<std::string_view>& wire_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    std::ranges::transform(wires, std::back_inserter(all), &Wire::name);
    return all;
  }();
  return names;
}

const Wire& find_wire(std::string_view name) {
  const auto* found = std::ranges::find(wires, name, &Wire::name);
  if (found == wires.end()) {
    throw std::invalid_argument(
        fmt::format("wire \"{}\" is unknown; the known ones are {}", name, fmt::join(wire_names(), ", ")));
  }
  return *found;
}

NoiseEntry noise_entry_of(std::string_view wire) { return find_wire(wire).noise; }

double wire_eta(std::string_view name, std::int64_t workers) {
  const Wire& wire = find_wire(name);
  if (!wire.is_integer()) {
    // A word of mantissa m in [1, 2) has an ulp of 2^-f / m of its size, and rounding errs by ulp / sqrt(12) rms. Over
    // mantissas distributed as 1 / m, the mean square relative error is 2^-2f / 12 * E[m^-2] = 2^-2f / 12 * (3 / 8) /
    // ln 2.
    return std::ldexp(1, -wire.fraction_bits) / std::sqrt(32 * std::log(2.0));
  }
  const std::int64_t levels = wire.levels(workers);
  if (levels == 0) {
    throw std::invalid_argument(
        fmt::format("{} words can't hold the sum of {} workers' encodings; take i32 or f32", name, workers));
  }
  return kEncodingPeak / (static_cast<double>(levels) * std::sqrt(12.0));
}

}  // namespace cerar
