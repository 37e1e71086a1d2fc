#include "cli/study_console.h"

#include "cli/commands.h"
#include "experiments/blas.h"
#include "experiments/study/log_log_fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace cerar::cli {
namespace {

double positive_number(const std::string& option, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || !std::isfinite(value)) {
    throw std::invalid_argument(fmt::format(
        "{}: \"{}\" is no positive number; write a range such as 1e-1:1e-12 or a list such as 1e-2,1e-3,1e-4", option,
        text));
  }
  return value;
}

}  // namespace

void add_study_options(CLI::App& command, StudyArguments& arguments) {
  command
      .add_option("-o,--output", arguments.folder,
                  "Folder for the results; if it holds the same study, finished points are not computed again")
      ->required();
  command.add_option("--threads", arguments.threads, "0: one a processor; results do not depend on it")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

StudyConsole::StudyConsole() { use_one_blas_thread(); }

StudyHooks StudyConsole::hooks(const StudyArguments& arguments) const {
  StudyHooks hooks;
  hooks.threads =
      arguments.threads > 0 ? arguments.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  hooks.stop = [] { return StopRequest::signal() != 0; };
  if (isatty(STDERR_FILENO) == 1) {
    hooks.report = [](std::size_t done, std::size_t all) {
      fmt::print(stderr, "\r{} of {} points{}", done, all, done == all ? "\r\033[K" : "");
      std::fflush(stderr);
    };
  }
  return hooks;
}

void end_interrupted(const StudyArguments& arguments) {
  fmt::print(stderr, "\ncerar: interrupted; finished points are kept in {}: the same command goes on from there\n",
             arguments.folder);
  throw ExitStatus{128 + StopRequest::signal()};
}

std::vector<double> parse_grid(const std::string& option, const std::string& text, int points) {
  std::vector<double> grid;
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const double one = positive_number(option, std::string_view(text).substr(0, colon));
    const double other = positive_number(option, std::string_view(text).substr(colon + 1));
    if (one == other || points < 2) {
      throw std::invalid_argument(fmt::format("{}: a range needs two different ends and at least 2 points", option));
    }
    grid = log_grid(std::max(one, other), std::min(one, other), points);
  } else {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      grid.push_back(positive_number(option, std::string_view(text).substr(begin, end - begin)));
      begin = end + 1;
    }
    std::sort(grid.begin(), grid.end(), std::greater<>());
    grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  }
  return grid;
}

}  // namespace cerar::cli
