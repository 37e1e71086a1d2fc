#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

namespace cerar::cli {

/// Prints a worker's line where the worker printed it, its rank in front.
inline void print_line(std::int64_t rank, bool is_error, std::string_view line) {
  std::FILE* stream = is_error ? stderr : stdout;
  fmt::print(stream, "[{}] {}\n", rank, line);
  std::fflush(stream);
}

inline void print_trouble(std::string_view sentence) { fmt::print(stderr, "cerar launch: {}\n", sentence); }

}  // namespace cerar::cli
