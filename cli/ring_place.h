#pragma once

#include "collective/communicator.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cerar::cli {

/// This process's place in a ring, from the environment or, where no launcher has set one, as rank 0 of `workers` local
/// workers (1 if not given) that run_as_group has yet to start.
struct RingPlace {
  CommunicatorOptions options;
  bool is_launched = false;  ///< whether the environment named a rank
};

/// @param workers  what the user asked for with --workers
/// @throws Error if the environment's ranks are incomplete or contradict `workers`
[[nodiscard]] RingPlace ring_place(std::optional<std::int64_t> workers);

/// Reads a code file and requires it to be for `workers` workers and for words that a ring sends, before any worker is
/// started.
/// @throws FileError, or Error with both numbers, or std::invalid_argument naming the words
[[nodiscard]] RingCode read_code_for(const std::string& file, std::int64_t workers);

/// @throws Error saying how to make one, if `algorithm` needs a code of its kind and `code` is none or another
void require_code_for(Algorithm algorithm, const std::optional<RingCode>& code);

/// Runs this very program again, with the arguments it was given, as `workers` local workers. Rank 0 writes to this
/// process's output; what the others print is prefixed with their rank.
/// @return the group's status, see cerar::launch
[[nodiscard]] int run_as_group(std::int64_t workers);

}  // namespace cerar::cli
