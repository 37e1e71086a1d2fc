#include "experiments/study/study_folder.h"

#include "coding/atomic_file.h"
#include "coding/error.h"

#include <fmt/core.h>

#include <fstream>
#include <system_error>

namespace cerar {
namespace {

nlohmann::ordered_json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(file, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    throw FileError(fmt::format("{}: is not readable JSON; delete it, and the study computes it again", path.string()));
  }
  return json;
}

void require_same(const std::filesystem::path& folder, const nlohmann::ordered_json& old,
                  const nlohmann::ordered_json& wanted) {
  for (const auto& [key, value] : wanted.items()) {
    if (!old.contains(key) || old[key] != value) {
      throw FileError(
          fmt::format("{}: holds another run ({} is {} there, {} here); give another folder to -o, or delete this one",
                      folder.string(), key, old.contains(key) ? old[key].dump() : "missing", value.dump()));
    }
  }
}

}  // namespace

StudyFolder::StudyFolder(std::filesystem::path folder, const nlohmann::ordered_json& run) : folder_(std::move(folder)) {
  const std::filesystem::path run_file = folder_ / "run.json";
  if (std::filesystem::exists(run_file)) {
    require_same(folder_, read_json(run_file), run);
    return;
  }
  std::error_code error;
  if (std::filesystem::exists(folder_) &&
      (!std::filesystem::is_directory(folder_) || !std::filesystem::is_empty(folder_, error))) {
    throw FileError(
        fmt::format("{}: holds other things than a study; give a new or an empty folder to -o", folder_.string()));
  }
  std::filesystem::create_directories(folder_, error);
  if (error) {
    throw FileError(fmt::format("{}: the folder cannot be made ({}); give -o a place that you may write to",
                                folder_.string(), error.message()));
  }
  write_file_atomically(run_file, run.dump(2) + "\n");
}

std::optional<nlohmann::ordered_json> StudyFolder::read_point(std::string_view name) const {
  const std::filesystem::path path = folder_ / "points" / fmt::format("{}.json", name);
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  return read_json(path);
}

void StudyFolder::write_point(std::string_view name, const nlohmann::ordered_json& point) const {
  std::filesystem::create_directories(folder_ / "points");
  write_file_atomically(folder_ / "points" / fmt::format("{}.json", name), point.dump() + "\n");
}

}  // namespace cerar
