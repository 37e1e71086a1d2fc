#pragma once

#include "experiments/train_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cerar {

/// A run with the short name it goes by in tables and pictures.
struct NamedRun {
  std::string name;
  TrainRun run;
};

/// Reads the files and names each run by how it reduced, e.g. "exact" or "coded 4,12", with the file's name added where
/// two would be called the same.
/// @throws FileError naming file and line
[[nodiscard]] std::vector<NamedRun> read_runs(const std::vector<std::string>& files);

/// A text table with one column a run: settings, final loss, accuracy by replica, errors, drift, bytes, time. Bytes and
/// their ratio refer to the first run. Ends with a note for each setting in which the runs differ although it should be
/// the same.
[[nodiscard]] std::string comparison_table(const std::vector<NamedRun>& runs);

/// A text table with one row a step: each run's loss, gradient error and bytes.
/// @param most_rows  at most this many of the reported steps, evenly spaced, the first and the last among them; 0: all
[[nodiscard]] std::string step_table(const std::vector<NamedRun>& runs, std::int64_t most_rows);

/// Mean bytes that rank 0 sent in a step's all-reduce, over the reported steps; 0 without any.
[[nodiscard]] double wire_bytes_per_step(const TrainRun& run);

}  // namespace cerar
