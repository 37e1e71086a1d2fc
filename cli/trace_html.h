#pragma once

#include "coding/code.h"
#include "coding/trace.h"

#include <cstdint>
#include <string>

namespace cerar::cli {

/// A page of more workers than this is refused: its blocks would be thinner than a line.
inline constexpr std::int64_t most_page_workers = 64;

/// One self-contained HTML page (no external resources, no network) that animates `trace`: the ring, the messages as
/// stacks of blocks, removal, kept vectors and decoding. The data is trace_json's, embedded.
///
/// @param worker  the worker that is selected when the page opens
/// @param code  may be null; where given and small, the page shows its encoding vectors
/// @throws std::invalid_argument if there are more than most_page_workers workers or 2^18 terms N^2 L
[[nodiscard]] std::string trace_page(const Trace& trace, std::int64_t worker, const Code* code);

}  // namespace cerar::cli
