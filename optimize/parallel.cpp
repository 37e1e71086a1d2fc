#include "optimize/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cerar {

bool run_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& task,
                  const std::function<bool()>& stop) {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  std::size_t failed_task = count;
  std::mutex mutex;
  const auto work = [&] {
    while (!failed && !(stop && stop())) {
      const std::size_t index = next++;
      if (index >= count) {
        return;
      }
      try {
        task(index);
        ++done;
      } catch (...) {
        // Tasks are begun in order, so that the lowest number that fails is the same however many threads there are.
        const std::lock_guard lock(mutex);
        if (index < failed_task) {
          failed_task = index;
          failure = std::current_exception();
        }
        failed = true;
      }
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(count, static_cast<std::size_t>(std::max(threads, 1))); ++i) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& other : others) {
    other.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  return done == count;
}

}  // namespace cerar
