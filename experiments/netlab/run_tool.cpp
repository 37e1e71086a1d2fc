#include "experiments/netlab/run_tool.h"

#include "coding/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cerar::netlab {

namespace {

/// A file in memory that holds `text`, to be read from its beginning.
int memory_file(const std::string& text) {
  const int file = memfd_create("cerar-netlab", MFD_CLOEXEC);
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      lseek(file, 0, SEEK_SET) != 0) {
    throw Error(fmt::format("cannot hold {} bytes for a program to read: {}", text.size(), std::strerror(errno)));
  }
  return file;
}

std::string contents(int file) {
  std::string text;
  std::array<char, 4096> block;
  lseek(file, 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(file, block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  std::ranges::replace(text, '\n', ' ');
  while (text.ends_with(' ')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

std::string run_tool(const std::vector<std::string>& command, const std::string& input) {
  const int in = memory_file(input);
  const int out = memory_file("");
  std::vector<std::string> words = command;
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execvp(pointers[0], pointers.data());
    dprintf(STDERR_FILENO, "%s: %s", pointers[0], std::strerror(errno));
    _exit(127);
  }
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string said = contents(out);
  close(in);
  close(out);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  return said.empty() ? fmt::format("{} failed with status {}", command.front(), status) : said;
}

}  // namespace cerar::netlab
