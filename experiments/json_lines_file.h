#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <fstream>

namespace cerar {

/// Writes JSON Lines to FILE.partial, line by line, and gives it its name once all is there: a reader of FILE sees a
/// whole run or none, and of a run that breaks off, the lines written so far stay in FILE.partial.
class JsonLinesFile {
 public:
  /// @throws FileError if the file will not be writable, before hours have gone into its contents
  explicit JsonLinesFile(std::filesystem::path path);
  /// Removes FILE.partial if nothing has been written to it.
  ~JsonLinesFile();
  JsonLinesFile(const JsonLinesFile&) = delete;
  JsonLinesFile& operator=(const JsonLinesFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const std::filesystem::path& partial_path() const noexcept { return partial_; }
  /// Whether lines lie in FILE.partial that commit() has not given their name.
  [[nodiscard]] bool unfinished() const noexcept { return written_ && !committed_; }

  /// Adds a line and hands it to the system at once.
  /// @throws FileError if that fails, e.g. on a full disk
  void write(const nlohmann::ordered_json& record);

  /// Renames FILE.partial to FILE.
  /// @throws FileError if that fails
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::ofstream stream_;
  bool written_ = false;
  bool committed_ = false;
};

}  // namespace cerar
