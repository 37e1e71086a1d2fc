#include "collective/communicator.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace cerar {

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

template <class Number>
Number number(const char* name, const std::string& text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    throw Error(
        fmt::format("the environment's {} is '{}'; it must be a number from {} to {}", name, text, least, most));
  }
  return value;
}

std::string required(const char* name) {
  const auto value = variable(name);
  if (!value) {
    throw Error(fmt::format(
        "the environment has a rank but no {}; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT go together", name));
  }
  return *value;
}

}  // namespace

std::optional<CommunicatorOptions> options_from_environment() {
  if (!variable("RANK")) {
    if (variable("WORLD_SIZE")) {
      throw Error(
          "the environment has WORLD_SIZE but no RANK; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT go together");
    }
    return std::nullopt;
  }
  CommunicatorOptions options;
  options.size = number<std::int64_t>("WORLD_SIZE", required("WORLD_SIZE"), 1, 1'000'000);
  options.rank = number<std::int64_t>("RANK", required("RANK"), 0, options.size - 1);
  options.master_host = required("MASTER_ADDR");
  options.master_port = number<std::uint16_t>("MASTER_PORT", required("MASTER_PORT"), 1, 65535);
  options.secret = variable("CERAR_SECRET").value_or("");
  if (const auto timeout = variable("CERAR_TIMEOUT")) {
    options.timeout_seconds = number<double>("CERAR_TIMEOUT", *timeout, 0.1, 1e6);
  }
  if (const auto bytes = variable("CERAR_DOUBLING_UP_TO")) {
    options.doubling_up_to_bytes = number<std::int64_t>("CERAR_DOUBLING_UP_TO", *bytes, 0, std::int64_t{1} << 40);
  }
  return options;
}

}  // namespace cerar
