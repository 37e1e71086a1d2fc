#pragma once

#include <cstddef>
#include <functional>

namespace cerar {

/// Calls task(0) .. task(count - 1), each once, on up to `threads` threads, and returns when all are done. The order is
/// not fixed: a task writes only to its own place.
/// @throws what the task of the lowest number that threw has thrown
void run_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& task);

}  // namespace cerar
