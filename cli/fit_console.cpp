#include "cli/fit_console.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <unistd.h>

namespace cerar::cli {
FitConsole::FitConsole()
    : is_terminal_(isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()), last_drawn_(start_) {}

FitConsole::~FitConsole() { clear_line(); }

bool FitConsole::progress(const FitProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (is_terminal_ && now - last_drawn_ > std::chrono::milliseconds(200)) {
    last_drawn_ = now;
    line_is_drawn_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    fmt::print(
        stderr, "\r\033[K{} of {} descents, {} codes tried, {:.0f} s{}", progress.starts_done, progress.starts,
        progress.evaluations, seconds,
        std::isfinite(progress.best_error) ? fmt::format(", best {:.4g} %", 100 * progress.best_error) : std::string());
    std::fflush(stderr);
  }
  return StopRequest::signal() == 0;
}

void FitConsole::clear_line() {
  if (line_is_drawn_) {
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    line_is_drawn_ = false;
  }
}

}  // namespace cerar::cli
