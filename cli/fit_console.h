#pragma once

#include "cli/stop_request.h"
#include "optimize/fit.h"

#include <chrono>

namespace cerar::cli {

/// While it lives, Ctrl-C and SIGTERM ask the fit to end with the best code so far (a second one ends the program), and
/// one refreshed line of progress is shown on standard error if that is a terminal.
class FitConsole {
 public:
  FitConsole();
  ~FitConsole();
  FitConsole(const FitConsole&) = delete;
  FitConsole& operator=(const FitConsole&) = delete;

  /// For FitOptions::progress: shows it, and answers whether to go on.
  [[nodiscard]] bool progress(const FitProgress& progress);

  /// Before anything else is printed.
  void clear_line();

 private:
  StopRequest stop_;
  bool is_terminal_;
  bool line_is_drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace cerar::cli
