#pragma once

#include "collective/communicator.h"
#include "collective/profile.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cerar {

/// Where a rank's operations report what they did and, as far as they are profiled, when.
class Recorder {
 public:
  explicit Recorder(Statistics& statistics) noexcept : statistics_(statistics) {}

  [[nodiscard]] Statistics& statistics() noexcept { return statistics_; }

  void set(Profiling profiling) noexcept { profiling_ = profiling; }
  [[nodiscard]] bool is_timing() const noexcept { return profiling_ != Profiling::off; }
  [[nodiscard]] bool is_tracing() const noexcept { return profiling_ == Profiling::trace; }

  /// Forgets what was traced and makes room for the latest `events` >= 0 ones.
  void reserve(std::size_t events);
  /// The latest events, in the order in which they ended.
  [[nodiscard]] std::vector<TraceEvent> trace() const;
  /// Events that later ones have displaced.
  [[nodiscard]] std::int64_t displaced() const noexcept;

  /// In nanoseconds of CLOCK_MONOTONIC.
  [[nodiscard]] static std::int64_t now() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  /// What the phases that follow belong to.
  void set_operation(std::int64_t sequence) noexcept { operation_ = sequence; }
  void set_place(std::int64_t slice, std::int64_t round) noexcept {
    slice_ = slice;
    round_ = static_cast<std::int32_t>(round);
  }

  void add(Phase phase, std::int64_t begin_ns, std::int64_t end_ns) noexcept;
  /// Only while tracing.
  void add_message(TraceEvent::Track track, std::int64_t slice, std::int64_t round, std::int64_t begin_ns,
                   std::int64_t end_ns) noexcept;

 private:
  void push(const TraceEvent& event) noexcept;

  Statistics& statistics_;
  Profiling profiling_ = Profiling::off;
  std::int64_t operation_ = 0;
  std::int64_t slice_ = -1;
  std::int32_t round_ = 0;
  std::vector<TraceEvent> events_;  ///< a ring: event k is at k modulo its size
  std::size_t pushed_ = 0;
};

/// Counts the time from its construction to its destruction to `phase`; reads no clock unless that is asked for.
class PhaseTimer {
 public:
  PhaseTimer(Recorder& recorder, Phase phase) noexcept
      : recorder_(recorder), phase_(phase), begin_ns_(recorder.is_timing() ? Recorder::now() : 0) {}
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  ~PhaseTimer() {
    if (recorder_.is_timing()) {
      recorder_.add(phase_, begin_ns_, Recorder::now());
    }
  }

 private:
  Recorder& recorder_;
  Phase phase_;
  std::int64_t begin_ns_;
};

}  // namespace cerar
