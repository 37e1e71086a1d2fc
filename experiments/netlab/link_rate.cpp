#include "experiments/netlab/link_rate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace cerar::netlab {

namespace {

constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
    {{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}};

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

double parse_rate(std::string_view text) {
  for (const auto& [unit, scale] : kUnits) {
    if (text.ends_with(unit)) {
      const std::optional<double> value = number(text.substr(0, text.size() - unit.size()));
      if (value && *value * scale >= 8e3 && *value * scale <= 1e12) {
        return *value * scale;
      }
      break;
    }
  }
  throw std::invalid_argument(
      fmt::format("'{}' is no rate; rates look like 1Gbit, 2.5Gbit or 100Mbit, from 8kbit to 1000Gbit", text));
}

std::string to_string_of_rate(double bits_per_second) {
  for (const auto& [unit, scale] : kUnits) {
    if (bits_per_second >= scale) {
      return fmt::format("{:g}{}", bits_per_second / scale, unit);
    }
  }
  return fmt::format("{:g}bit", bits_per_second);
}

std::int64_t default_burst_bytes(double bits_per_second) {
  return std::clamp(static_cast<std::int64_t>(bits_per_second / 8 / 1000), std::int64_t{64} << 10,
                    std::int64_t{512} << 10);
}

double goodput_bytes_per_second(double bits_per_second, std::int64_t mtu) {
  return bits_per_second / 8 * static_cast<double>(mtu - 52) / static_cast<double>(mtu + 14);
}

LinkEvent parse_event(std::string_view text, std::int64_t hosts) {
  const auto first = text.find(':');
  const auto second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second != std::string_view::npos) {
    const std::optional<double> seconds = number(text.substr(0, first));
    const std::optional<double> host = number(text.substr(first + 1, second - first - 1));
    const std::string_view change = text.substr(second + 1);
    if (seconds && *seconds >= 0 && *seconds < 1e6 && host && *host >= 0 && *host < static_cast<double>(hosts) &&
        *host == static_cast<double>(static_cast<std::int64_t>(*host))) {
      LinkEvent event{.seconds = *seconds, .host = static_cast<std::int64_t>(*host)};
      if (change == "down" || change == "up") {
        event.change = change == "up" ? LinkEvent::Change::up : LinkEvent::Change::down;
      } else {
        event.change = LinkEvent::Change::rate;
        event.bits_per_second = parse_rate(change);
      }
      return event;
    }
  }
  throw std::invalid_argument(
      fmt::format("'{}' is no event; events are SECONDS:HOST:down, SECONDS:HOST:up or SECONDS:HOST:RATE, with a host "
                  "from 0 to {}",
                  text, hosts - 1));
}

}  // namespace cerar::netlab
