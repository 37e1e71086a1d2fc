#include "cli/fit_console.h"

#include <fmt/core.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace cerar::cli {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

void on_signal(int number) {
  stop_requested = 1;
  std::signal(number, SIG_DFL);
}

}  // namespace

FitConsole::FitConsole()
    : is_terminal_(isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()), last_drawn_(start_) {
  stop_requested = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

FitConsole::~FitConsole() {
  clear_line();
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

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
  return stop_requested == 0;
}

bool FitConsole::interrupted() { return stop_requested != 0; }

void FitConsole::clear_line() {
  if (line_is_drawn_) {
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    line_is_drawn_ = false;
  }
}

}  // namespace cerar::cli
