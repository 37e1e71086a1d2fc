#pragma once

#include "coding/piggyback.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace cerar::cli {

/// What `cerar fit` and `cerar show` say about a piggyback code.
struct PiggybackReport {
  std::optional<double> simulated_relative_error;  ///< in float32, by the sequential reference; none for the exact ring
  /// sum_i || E_i - T ||_F^2 and the largest kappa_2(M_i) of its linear maps; none where N c is too large to form them.
  std::optional<double> phi;
  std::optional<double> kappa_max;
};

[[nodiscard]] PiggybackReport make_report(const PiggybackCode& code);

/// The keys of `cerar fit --json`.
[[nodiscard]] nlohmann::ordered_json report_json(const PiggybackCode& code, const PiggybackReport& report);

/// An aligned table for people, newline at the end.
[[nodiscard]] std::string report_text(const PiggybackCode& code, const PiggybackReport& report);

}  // namespace cerar::cli
