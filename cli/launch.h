#pragma once

#include <cstdint>

namespace cerar::cli {

/// Runs this very program again, with the arguments it was given, as `workers` local workers. Rank 0 writes to this
/// process's output; what the others print is prefixed with their rank.
/// @return the group's status, see cerar::launch
[[nodiscard]] int run_as_group(std::int64_t workers);

}  // namespace cerar::cli
