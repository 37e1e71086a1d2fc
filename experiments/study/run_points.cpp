#include "experiments/study/run_points.h"

#include "optimize/parallel.h"

#include <mutex>

namespace cerar {

bool run_points(std::size_t count, const StudyHooks& hooks, const std::function<bool(std::size_t)>& point) {
  std::mutex mutex;
  std::size_t done = 0;
  const auto task = [&](std::size_t index) {
    if (!point(index)) {
      return;
    }
    const std::lock_guard lock(mutex);
    ++done;
    if (hooks.report) {
      hooks.report(done, count);
    }
  };
  run_parallel(count, hooks.threads, task, hooks.stop);
  return done == count;
}

}  // namespace cerar
