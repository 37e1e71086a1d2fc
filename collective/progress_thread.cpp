#include "collective/progress_thread.h"

#include <csignal>

namespace cerar {

namespace {

/// A thread that inherits no signals: handlers run on the program's own threads.
template <class Body>
std::thread start_without_signals(Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(body);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

ProgressThread::ProgressThread(Operations& operations)
    : operations_(operations), submitted_(16), thread_(start_without_signals([this] { run(); })) {}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::int64_t ProgressThread::submit(std::span<float> values, const AllReduceOptions& options) {
  const std::lock_guard lock(mutex_);
  const auto pending = static_cast<std::size_t>(begun_ - done_);
  if (pending == submitted_.size()) {
    std::vector<Work> larger(2 * submitted_.size());
    for (std::int64_t k = done_; k < begun_; ++k) {
      larger[static_cast<std::size_t>(k) % larger.size()] = submitted_[static_cast<std::size_t>(k) % pending];
    }
    submitted_ = std::move(larger);
  }
  submitted_[static_cast<std::size_t>(begun_) % submitted_.size()] = {values, options};
  changed_.notify_all();
  return begun_++;
}

void ProgressThread::wait(std::int64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ > number; });
  if (failure_ && number >= first_failed_) {
    std::rethrow_exception(failure_);
  }
}

bool ProgressThread::is_done(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  return done_ > number;
}

void ProgressThread::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ == begun_; });
}

void ProgressThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return done_ < begun_ || ends_; });
    if (done_ == begun_) {
      return;
    }
    const Work work = submitted_[static_cast<std::size_t>(done_) % submitted_.size()];
    std::exception_ptr failure = failure_;
    if (!failure) {
      lock.unlock();
      try {
        operations_.all_reduce(work.values, work.options);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
    }
    if (failure && !failure_) {
      failure_ = failure;
      first_failed_ = done_;
    }
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace cerar
