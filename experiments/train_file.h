#pragma once

#include "experiments/json_lines_file.h"
#include "experiments/train_records.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace cerar {

/// Writes a run's records to a JSON Lines file, which has its name once the summary is in.
class TrainFileReporter : public TrainReporter {
 public:
  /// @throws FileError if the file will not be writable
  explicit TrainFileReporter(const std::filesystem::path& path) : file_(path) {}

  void header(const TrainHeader& record) override;
  void step(const TrainStep& record) override;
  void summary(const TrainSummary& record) override;

  [[nodiscard]] const JsonLinesFile& file() const noexcept { return file_; }

 private:
  JsonLinesFile file_;
};

/// A run as it was written.
struct TrainRun {
  TrainHeader header;
  std::vector<TrainStep> steps;         ///< in ascending order
  std::optional<TrainSummary> summary;  ///< nothing if the file breaks off after a whole line
};

/// Reads what TrainFileReporter wrote; FILE.partial of a run that broke off is accepted too.
/// @throws FileError naming file and line: missing, not JSON, a field missing or of another type, records out of order
[[nodiscard]] TrainRun read_train_file(const std::filesystem::path& path);

}  // namespace cerar
