#pragma once

#include "collective/communicator.h"
#include "collective/operations.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace cerar {

/// Runs all-reduces in the order in which they are submitted, on a thread of its own that never takes a signal.
class ProgressThread {
 public:
  explicit ProgressThread(Operations& operations);
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  /// Does what has been submitted first.
  ~ProgressThread();

  /// @return the operation's number, from 0 on
  [[nodiscard]] std::int64_t submit(std::span<float> values, const AllReduceOptions& options);

  /// Returns once operation `number` is done; throws what it or one before it threw.
  void wait(std::int64_t number);
  [[nodiscard]] bool is_done(std::int64_t number);

  /// Waits for all that have been submitted, failed or not: afterwards the caller may use the operations itself.
  void drain();

 private:
  struct Work {
    std::span<float> values;
    AllReduceOptions options;
  };

  void run();

  Operations& operations_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Work> submitted_;  ///< in a ring: operation k is number k % submitted_.size()
  std::int64_t begun_ = 0;       ///< operations submitted so far
  std::int64_t done_ = 0;
  std::int64_t first_failed_ = 0;
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace cerar
