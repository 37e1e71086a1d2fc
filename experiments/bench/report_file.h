#pragma once

#include "experiments/bench/bench.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace cerar::bench {

/// What `cerar bench --json` wrote, as far as models of it need.
struct BenchReport {
  std::int64_t workers = 0;
  std::int64_t chunks = 0;  ///< of the code; 0 without one
  std::vector<BenchRow> rows;

  /// L of an algorithm of the report: exchanges that follow each other.
  /// @throws std::invalid_argument for "auto", which may be one or the other
  [[nodiscard]] std::int64_t rounds(const BenchRow& row) const;
  /// c of the algorithm.
  [[nodiscard]] std::int64_t chunks_of(const BenchRow& row) const;
};

/// @throws FileError if the file cannot be read or is no such report, naming the field
[[nodiscard]] BenchReport read_report(const std::filesystem::path& file);

}  // namespace cerar::bench
