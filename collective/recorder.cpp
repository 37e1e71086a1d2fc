#include "collective/recorder.h"

#include <algorithm>

namespace cerar {

std::string_view name(Phase phase) noexcept {
  static constexpr std::array<std::string_view, kPhases> kNames = {"check",  "encode", "prepare", "update",
                                                                   "decode", "send",   "receive", "wait"};
  return kNames[static_cast<std::size_t>(phase)];
}

void Recorder::reserve(std::size_t events) {
  events_.assign(events, TraceEvent{});
  pushed_ = 0;
}

std::vector<TraceEvent> Recorder::trace() const {
  const std::size_t kept = std::min(pushed_, events_.size());
  std::vector<TraceEvent> trace;
  trace.reserve(kept);
  for (std::size_t k = pushed_ - kept; k < pushed_; ++k) {
    trace.push_back(events_[k % events_.size()]);
  }
  return trace;
}

std::int64_t Recorder::displaced() const noexcept {
  return static_cast<std::int64_t>(pushed_ - std::min(pushed_, events_.size()));
}

void Recorder::add(Phase phase, std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  statistics_.phase_seconds[static_cast<std::size_t>(phase)] += 1e-9 * static_cast<double>(end_ns - begin_ns);
  if (is_tracing()) {
    const bool has_place = phase < Phase::send;
    push({begin_ns, end_ns, operation_, has_place ? slice_ : -1, has_place ? round_ : 0, TraceEvent::Track::work,
          phase});
  }
}

void Recorder::add_message(TraceEvent::Track track, std::int64_t slice, std::int64_t round, std::int64_t begin_ns,
                           std::int64_t end_ns) noexcept {
  push({begin_ns, end_ns, operation_, slice, static_cast<std::int32_t>(round), track, {}});
}

void Recorder::push(const TraceEvent& event) noexcept {
  if (!events_.empty()) {
    events_[pushed_ % events_.size()] = event;
  }
  ++pushed_;
}

}  // namespace cerar
