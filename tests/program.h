#pragma once

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/wait.h>

namespace cerar::testing {

/// A folder of a test's own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cerar-test-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a command printed and how it ended.
struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

/// Runs a shell command with `folder` as its working folder; nothing of the command's output stays there.
inline Outcome shell(const Folder& folder, const std::string& command) {
  const std::string line = fmt::format("cd '{}' && {{ {}\n}} > .out 2> .err", (folder / "").string(), command);
  const int status = std::system(line.c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder / ".out"), contents(folder / ".err")};
  std::filesystem::remove(folder / ".out");
  std::filesystem::remove(folder / ".err");
  return outcome;
}

/// Runs the program under test.
inline Outcome cerar(const Folder& folder, const std::string& arguments) {
  return shell(folder, fmt::format("'{}' {}", CERAR_PROGRAM, arguments));
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace cerar::testing
