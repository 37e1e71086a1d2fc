#pragma once

#include "coding/code.h"
#include "coding/trace.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>

namespace cerar::cli {

/// The trace as one JSON object, for `--json` and for the page that animates it:
///
///     workers, chunks, rounds, rate, exact_ring_rate, decoder, first_kept_round, kept_vectors
///     schedule   one object a round: round, steps; a step has worker, sends_to, receives_from, sent, received,
///     removed, others,
///                kept, added. A sum is a list of [worker, round] pairs, oldest contribution first; removed and added
///                are one such pair or null; kept is a list of {vector: "s" | "r" | "o", round}
///     decoding   one object a worker: worker, equation, kept: the rows' vectors with their sums
///     encoders   U_i as lists of rows, where a code is given and the numbers are at most 50,000
///
/// @param worker  only this worker's steps and decoding; none: all
/// @param code  may be null
[[nodiscard]] nlohmann::ordered_json trace_json(const Trace& trace, std::optional<std::int64_t> worker,
                                                const Code* code);

}  // namespace cerar::cli
