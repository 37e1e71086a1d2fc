#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cerar {

/// The results of one study: run.json, what was asked for; points/, one file a finished point, so that a study that was
/// interrupted goes on where it stopped; and the files made of all points in the end.
class StudyFolder {
 public:
  /// Makes the folder, or opens it if it holds the same study.
  /// @param run  all that a point depends on; points of other runs are never mixed in
  /// @throws FileError if the folder holds another run (naming the field that differs) or other files, or can't be
  ///   written
  StudyFolder(std::filesystem::path folder, const nlohmann::ordered_json& run);

  /// What write_point wrote under that name; nothing if it has not.
  /// @throws FileError if the file is damaged
  [[nodiscard]] std::optional<nlohmann::ordered_json> read_point(std::string_view name) const;
  void write_point(std::string_view name, const nlohmann::ordered_json& point) const;

  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

}  // namespace cerar
