#include "experiments/gnuplot.h"

#include "coding/error.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace cerar {
namespace {

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

TemporaryFile temporary_file() {
  TemporaryFile file(std::tmpfile(), std::fclose);
  if (!file) {
    throw FileError(fmt::format("no temporary file can be made ({})", std::strerror(errno)));
  }
  return file;
}

/// Files and not pipes at both ends: neither side can wait for the other, and nobody gets a SIGPIPE.
int run_gnuplot(std::FILE* input, std::FILE* messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages), STDERR_FILENO);
  std::array<char, 8> program{"gnuplot"};
  std::array<char*, 2> arguments{program.data(), nullptr};
  pid_t child = 0;
  const int failure = posix_spawnp(&child, program.data(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == ENOENT) {
    throw Error("gnuplot, which draws the pictures, is not installed; install the Debian package gnuplot-nox");
  }
  if (failure != 0) {
    throw Error(fmt::format("gnuplot cannot be started ({})", std::strerror(failure)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      throw Error(fmt::format("gnuplot cannot be waited for ({})", std::strerror(errno)));
    }
  }
  return status;
}

std::string last_words(std::FILE* messages) {
  std::string text;
  std::rewind(messages);
  std::array<char, 512> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), messages)) {
    text.append(part.data(), got);
  }
  constexpr std::size_t most = 400;
  return text.size() > most ? text.substr(text.size() - most) : text;
}

}  // namespace

std::string gnuplot_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    quoted += letter == '\'' ? "''" : std::string(1, letter);
  }
  return quoted + "'";
}

void draw_with_gnuplot(const std::string& script, const std::filesystem::path& png, int width, int height) {
  std::filesystem::path partial = png;
  partial += ".partial";
  errno = 0;
  if (std::filesystem::is_directory(png) || !std::ofstream(partial)) {
    throw FileError(fmt::format("{} cannot be written ({}); give a file in a folder that exists and is writable",
                                png.string(), errno != 0 ? std::strerror(errno) : "it is a folder"));
  }
  const TemporaryFile input = temporary_file();
  const TemporaryFile messages = temporary_file();
  const std::string head =
      fmt::format("set terminal pngcairo size {},{} font 'DejaVu Sans,13' background '#ffffff'\nset output {}\n", width,
                  height, gnuplot_quoted(partial.string()));
  const std::string whole = head + script + "\nunset output\n";
  std::error_code error;
  try {
    if (std::fwrite(whole.data(), 1, whole.size(), input.get()) != whole.size() || std::fflush(input.get()) != 0) {
      throw FileError(fmt::format("a temporary file cannot be written ({})", std::strerror(errno)));
    }
    std::rewind(input.get());
    const int status = run_gnuplot(input.get(), messages.get());
    if (status != 0 || std::filesystem::file_size(partial, error) == 0) {
      throw Error(fmt::format("gnuplot failed to draw {}: {}", png.string(), last_words(messages.get())));
    }
  } catch (...) {
    std::filesystem::remove(partial, error);
    throw;
  }
  std::filesystem::rename(partial, png);
}

}  // namespace cerar
