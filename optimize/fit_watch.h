#pragma once

#include "optimize/fit.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <mutex>

namespace cerar {

/// Knows how far a fit has come and whether it is to go on; for many threads at once.
class FitWatch {
 public:
  explicit FitWatch(const FitOptions& options) : options_(options), start_(std::chrono::steady_clock::now()) {
    progress_.best_error = std::numeric_limits<double>::infinity();
  }

  /// Wall clock since the fit began.
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// Before any thread starts.
  void expect(std::size_t starts) { progress_.starts = starts; }

  /// @param error  relative, where that descent ended
  void start_done(double error) {
    const std::lock_guard lock(mutex_);
    ++progress_.starts_done;
    progress_.best_error = std::min(progress_.best_error, error);
  }

  /// Before every evaluation: whether the fit is to end.
  [[nodiscard]] bool asks_to_stop() {
    if (stopped_) {
      return true;
    }
    const std::lock_guard lock(mutex_);
    ++progress_.evaluations;
    if ((options_.time_limit > 0 && seconds() > options_.time_limit) ||
        (options_.progress && !options_.progress(progress_))) {
      stopped_ = true;
    }
    return stopped_;
  }

  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  const FitOptions& options_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  FitProgress progress_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace cerar
