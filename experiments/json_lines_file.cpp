#include "experiments/json_lines_file.h"

#include "coding/error.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace cerar {
namespace {

std::filesystem::path partial_of(const std::filesystem::path& path) {
  std::filesystem::path partial = path;
  partial += ".partial";
  return partial;
}

std::ofstream open_partial(const std::filesystem::path& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw FileError(fmt::format("{} cannot be written: it is a folder; give a file name", path.string()));
  }
  errno = 0;
  std::ofstream stream(partial_of(path), std::ios::binary | std::ios::trunc);
  if (!stream) {
    throw FileError(fmt::format("{} cannot be written ({}); give a file in a folder that exists and is writable",
                                path.string(), errno != 0 ? std::strerror(errno) : "unknown reason"));
  }
  return stream;
}

void remove_quietly(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

}  // namespace

JsonLinesFile::JsonLinesFile(std::filesystem::path path)
    : path_(std::move(path)), partial_(partial_of(path_)), stream_(open_partial(path_)) {}

JsonLinesFile::~JsonLinesFile() {
  if (!written_) {
    remove_quietly(partial_);
  }
}

void JsonLinesFile::write(const nlohmann::ordered_json& record) {
  errno = 0;
  stream_ << record.dump() << '\n' << std::flush;
  written_ = true;
  if (!stream_) {
    throw FileError(fmt::format("{}: writing failed ({}); is the disk full?", partial_.string(),
                                errno != 0 ? std::strerror(errno) : "unknown reason"));
  }
}

void JsonLinesFile::commit() {
  stream_.close();
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (!stream_ || error) {
    throw FileError(fmt::format("{} cannot be written ({}); the run's records are in {}", path_.string(),
                                error ? error.message() : "closing failed", partial_.string()));
  }
  committed_ = true;
}

}  // namespace cerar
