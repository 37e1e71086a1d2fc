#include "coding/piggyback_trace.h"

#include "coding/trace.h"

#include <fmt/core.h>

#include <cstddef>
#include <stdexcept>
#include <utility>

namespace cerar {
namespace {

void validate_request(const PiggybackCode& code) {
  validate(code);
  const RingShape& shape = code.shape;
  if (code.is_exact()) {
    throw std::invalid_argument(
        fmt::format("with {} workers and {} chunks the piggyback ring is the exact ring, nothing is superposed; see "
                    "`cerar trace --workers {} --chunks {}`",
                    shape.workers, shape.chunks, shape.workers, shape.workers));
  }
  const double terms = static_cast<double>(shape.workers) * static_cast<double>(shape.workers) *
                       (static_cast<double>(shape.chunks) + static_cast<double>(shape.workers) - 1);
  if (terms > static_cast<double>(max_trace_terms)) {
    throw std::invalid_argument(
        fmt::format("a trace of {} workers and {} chunks has about N^2 L = {:.3g} terms, more than the {} that fit; "
                    "trace a smaller ring, its rounds follow the same pattern",
                    shape.workers, shape.chunks, terms, max_trace_terms));
  }
}

PiggybackAction action_of(const PiggybackRole& serving, const PiggybackTrace& trace, std::int64_t round) {
  const std::int64_t workers = trace.shape.workers;
  if (round > trace.shape.rounds()) {
    return PiggybackAction::read;
  }
  if (serving.pass == trace.shape.chunks / workers) {
    return PiggybackAction::forward;
  }
  if (serving.pass == 0) {
    return PiggybackAction::add;
  }
  return serving.role == workers - 1 ? PiggybackAction::lead : PiggybackAction::superpose;
}

/// The leader has added the last b_g: the partial sum becomes M_g, alone on the message.
PiggybackSymbols completed(const PiggybackSymbols& message, std::int64_t workers) {
  if (static_cast<std::int64_t>(message.workers.size()) != workers) {
    throw std::logic_error(fmt::format("piggyback trace: group {} is complete with {} of {} workers",
                                       message.riding.value_or(-1), message.workers.size(), workers));
  }
  return {.whole = message.riding, .riding = {}, .workers = {}};
}

PiggybackSymbols sent_by(const PiggybackStep& step, std::int64_t workers) {
  const auto [chain, role, pass] = step.serving;
  PiggybackSymbols message = step.received;
  switch (step.action) {
    case PiggybackAction::read:
      return {};
    case PiggybackAction::forward:
      return message;
    case PiggybackAction::lead:
      if (message.whole != pass - 1) {
        throw std::logic_error("piggyback trace: the leader has not got the sum back that it is to take away");
      }
      message.whole.reset();
      break;
    case PiggybackAction::add:
    case PiggybackAction::superpose:
      break;
  }
  message.riding = pass;
  message.workers.push_back(step.worker);
  return role == workers - 1 ? completed(message, workers) : message;
}

/// What the step tells its worker, after it has sent (coding/piggyback_reference.h, PiggybackWorker::learn).
void learn(PiggybackStep& step, const RingShape& shape) {
  const std::int64_t groups = shape.chunks / shape.workers;
  if (step.serving.role == shape.workers - 1) {
    if (step.serving.pass < groups) {
      step.learned = step.serving.pass;
    }
  } else if (step.serving.pass > 0) {
    step.learned = step.serving.pass - 1;
  }
  if (step.learned && *step.learned > 0) {
    step.finished.push_back(*step.learned - 1);
  }
  if (step.learned == groups - 1) {
    step.finished.push_back(groups - 1);
  }
}

}  // namespace

PiggybackTrace trace_piggyback(const RingShape& shape) {
  validate_request(PiggybackCode{.shape = shape, .d = 1, .adapts_scale = false, .noise = {}});
  PiggybackTrace trace{shape, {}};
  std::vector<PiggybackSymbols> on_wire(static_cast<std::size_t>(shape.workers));
  for (std::int64_t t = 1; t <= shape.rounds() + 1; ++t) {
    std::vector<PiggybackStep> round;
    for (std::int64_t i = 0; i < shape.workers; ++i) {
      PiggybackStep step;
      step.worker = i;
      step.serving = piggyback_role(i, t, shape.workers);
      step.received = on_wire[static_cast<std::size_t>(wrap(i - 1, shape.workers))];
      step.action = action_of(step.serving, trace, t);
      step.sent = sent_by(step, shape.workers);
      learn(step, shape);
      round.push_back(std::move(step));
    }
    for (const PiggybackStep& step : round) {
      on_wire[static_cast<std::size_t>(step.worker)] = step.sent;
    }
    trace.rounds.push_back(std::move(round));
  }
  return trace;
}

}  // namespace cerar
