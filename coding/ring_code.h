#pragma once

#include "coding/code.h"
#include "coding/piggyback.h"

#include <string>
#include <variant>

namespace cerar {

/// What a code file describes and a ring runs: a (U, R) for the paper's protocol, or a piggyback code.
using RingCode = std::variant<Code, PiggybackCode>;

[[nodiscard]] inline const RingShape& shape_of(const RingCode& code) {
  return std::visit([](const auto& one) -> const RingShape& { return one.shape; }, code);
}

[[nodiscard]] inline double predicted_relative_error(const RingCode& code) {
  return std::visit([](const auto& one) { return one.predicted_relative_error; }, code);
}

/// The construction's name; "piggyback" for a piggyback code.
[[nodiscard]] inline std::string construction_of(const RingCode& code) {
  const auto* shift = std::get_if<Code>(&code);
  return shift != nullptr ? shift->construction.name : "piggyback";
}

inline void validate(const RingCode& code) {
  std::visit([](const auto& one) { validate(one); }, code);
}

[[nodiscard]] inline std::uint64_t hash(const RingCode& code) {
  return std::visit([](const auto& one) { return hash(one); }, code);
}

}  // namespace cerar
