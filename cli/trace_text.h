#pragma once

#include "coding/code.h"
#include "coding/trace.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cerar::cli {

/// How much of a trace is printed.
struct TraceTextOptions {
  std::optional<std::int64_t> worker;  ///< only this worker's view; none: all of them, or worker 0 if there are many
  bool everything = false;             ///< every worker, round and term, however many
};

/// "o[2,5]", "s[2,4]" or "r[2,4]": the kept vector's name in worker `worker`'s equations.
[[nodiscard]] std::string vector_name(const KeptVector& vector, std::int64_t worker);

/// How worker `worker` decodes, as one line: "ghat[2] = G[2] + (o[2,1] .. o[2,7]) R[2]".
[[nodiscard]] std::string decoding_equation(const Trace& trace, std::int64_t worker);

/// The schedule for a terminal: shape and rate, legend, a table for each round (or one for the single worker),
/// decoding, and the encoding vectors where a code is given. Lines are at most about 110 columns.
[[nodiscard]] std::string trace_text(const Trace& trace, const TraceTextOptions& options, const Code* code);

}  // namespace cerar::cli
