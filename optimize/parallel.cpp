#include "optimize/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace cerar {

void run_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& task) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t k = next++; k < count; k = next++) {
      try {
        task(k);
      } catch (...) {
        failures[k] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  for (std::size_t k = 1; k < std::min(count, static_cast<std::size_t>(std::max(threads, 1))); ++k) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& other : others) {
    other.join();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

}  // namespace cerar
