#include "cli/stop_request.h"

#include <atomic>
#include <csignal>

namespace cerar::cli {
namespace {

std::atomic<int> requested = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void on_signal(int number) {
  requested = number;
  std::signal(number, SIG_DFL);
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
