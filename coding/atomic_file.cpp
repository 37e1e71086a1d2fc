#include "coding/atomic_file.h"

#include "coding/error.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <string>
#include <system_error>
#include <unistd.h>

namespace cerar {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what) {
  throw FileError(fmt::format("{}: cannot be written: {}; choose a path in an existing folder that you may write to",
                              path.string(), what));
}

/// A file that removes itself unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target) {
    std::random_device device;
    path_ = target.parent_path() / fmt::format(".{}.{}-{:08x}", target.filename().string(), ::getpid(), device());
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      fail(target, std::strerror(errno));
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
    if (!renamed_) {
      ::unlink(path_.c_str());
    }
  }

  void write(std::string_view contents) {
    while (!contents.empty()) {
      const ssize_t written = ::write(descriptor_, contents.data(), contents.size());
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written < 0) {
        fail(target_, std::strerror(errno));
      }
      contents.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void rename_to_target() {
    const bool flushed = ::fsync(descriptor_) == 0;
    const bool closed = ::close(descriptor_) == 0;
    descriptor_ = -1;
    if (!flushed || !closed || ::rename(path_.c_str(), target_.c_str()) != 0) {
      fail(target_, std::strerror(errno));
    }
    renamed_ = true;
  }

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

/// Makes the rename itself last through a crash; file systems that cannot do this are no reason to fail.
void flush_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

/// The file behind `path`, links followed, once it is sure that one could be there.
std::filesystem::path writable_target(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path target =
      path.empty() ? path : std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  if (error || path.empty()) {
    fail(path, error ? error.message() : "the path is empty");
  }
  const std::filesystem::file_status status = std::filesystem::status(target, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail(path, std::filesystem::is_directory(status) ? "it is a folder" : "it is not a regular file");
  }
  if (!std::filesystem::is_directory(target.parent_path(), error)) {
    fail(path, fmt::format("there is no folder {}", target.parent_path().string()));
  }
  return target;
}

}  // namespace

void require_writable(const std::filesystem::path& path) { const TemporaryFile probe(writable_target(path)); }

void write_file_atomically(const std::filesystem::path& path, std::string_view contents) {
  const std::filesystem::path target = writable_target(path);
  TemporaryFile file(target);
  file.write(contents);
  file.rename_to_target();
  flush_folder(target.parent_path());
}

}  // namespace cerar
