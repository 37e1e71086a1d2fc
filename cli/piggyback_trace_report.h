#pragma once

#include "cli/trace_text.h"
#include "coding/piggyback_trace.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace cerar::cli {

/// The schedule for a terminal: shape and rate, legend, and a table for each round, or one for a single worker: which
/// chain it serves in which role and pass, what it sends, and what it has learned.
/// @param code  a fitted code whose d is shown; may be null
[[nodiscard]] std::string piggyback_trace_text(const PiggybackTrace& trace, const TraceTextOptions& options,
                                               const PiggybackCode* code);

/// The schedule as one JSON object:
///
///     workers, chunks, rounds, rate, exact_ring_rate, groups, d (where a code is given)
///     schedule   one object a round, 1 .. L + 1: round, steps; a step has worker, sends_to, receives_from, chain,
///     role,
///                pass, action ("add" | "superpose" | "lead" | "forward" | "read"), received, sent, learned, finished.
///                A message is {whole: g | null, riding: g | null, workers}: M_g, and the workers whose b_g are in the
///                partial sum; learned is a group or null, finished a list of groups
/// @param worker  only this worker's steps; none: all
[[nodiscard]] nlohmann::ordered_json piggyback_trace_json(const PiggybackTrace& trace,
                                                          std::optional<std::int64_t> worker,
                                                          const PiggybackCode* code);

}  // namespace cerar::cli
