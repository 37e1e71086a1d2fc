#include "cli/stop_request.h"

#include <atomic>
#include <csignal>
#include <ctime>

namespace cerar::cli {
namespace {

std::atomic<int> requested = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

std::atomic<std::time_t> asked_at = 0;
static_assert(std::atomic<std::time_t>::is_always_lock_free);

std::time_t now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

// One request may arrive twice: `timeout` and launchers signal both the process and its group.
void on_signal(int number) {
  constexpr std::time_t kSameRequestSeconds = 1;
  if (requested == 0) {
    requested = number;
    asked_at = now_seconds();
  } else if (now_seconds() - asked_at > kSameRequestSeconds) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

}  // namespace

StopRequest::StopRequest() {
  requested = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

StopRequest::~StopRequest() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int StopRequest::signal() { return requested; }

}  // namespace cerar::cli
