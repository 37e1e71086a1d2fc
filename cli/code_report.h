#pragma once

#include "coding/code.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace cerar::cli {

/// What `cerar fit` and `cerar show` say about a code.
struct CodeReport {
  double phi = 0;
  double kappa_max = 0;
  double simulated_relative_error = 0;  ///< in the wire's arithmetic: as the code has it, otherwise of one simulation
  std::int64_t simulated_values = 0;    ///< gradient values a worker had in that simulation; 0 where the code had it
  std::int64_t encode_terms = 0;        ///< nonzero coefficients in U_0: multiplications for c values
  std::int64_t decode_terms = 0;        ///< nonzero coefficients in R_0
  std::vector<double> worker_errors;    ///< predicted, relative
  double best_chunk_error = 0;          ///< predicted, of worker 0, relative to a chunk of the true sum
  double worst_chunk_error = 0;
};

[[nodiscard]] CodeReport make_report(const Code& code);

/// The keys of `cerar fit --json` that do not depend on the fit itself; numbers that are not finite become null.
[[nodiscard]] nlohmann::ordered_json report_json(const Code& code, const CodeReport& report);

/// An aligned table for people, newline at the end.
[[nodiscard]] std::string report_text(const Code& code, const CodeReport& report);

}  // namespace cerar::cli
