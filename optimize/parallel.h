#pragma once

#include <cstddef>
#include <functional>

namespace cerar {

/// Runs task(0) .. task(count - 1), each once, on `threads` threads, in no particular order. Stops early, between
/// tasks, once `stop` says so. An exception of a task stops the others and is thrown again here: of several, that of
/// the lowest number.
/// @param threads  at least 1
/// @return whether every task was run
bool run_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& task,
                  const std::function<bool()>& stop = {});

}  // namespace cerar
