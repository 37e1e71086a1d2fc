#pragma once

#include "cli/stop_request.h"
#include "experiments/study/study_hooks.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace cerar::cli {

/// Options that every study has.
struct StudyArguments {
  std::string folder;
  int threads = 0;  ///< 0: one a processor
};

void add_study_options(CLI::App& command, StudyArguments& arguments);

/// While it lives, Ctrl-C asks the study to stop after the points it is at, and progress is shown on standard error if
/// that is a terminal.
class StudyConsole {
 public:
  StudyConsole();

  [[nodiscard]] StudyHooks hooks(const StudyArguments& arguments) const;

 private:
  StopRequest stop_;
};

/// Says that what is finished is kept, and ends the program as an interrupted one.
[[noreturn]] void end_interrupted(const StudyArguments& arguments);

/// "1e-1:1e-12" as `points` values equidistant in the logarithm, or "1e-2,1e-3" as it stands; largest first.
/// @throws std::invalid_argument naming `option`
[[nodiscard]] std::vector<double> parse_grid(const std::string& option, const std::string& text, int points);

}  // namespace cerar::cli
