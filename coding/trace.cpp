#include "coding/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace cerar {
namespace {

void validate_request(const RingShape& shape, Decoder decoder, std::int64_t first_kept_round) {
  validate(shape);
  const double terms = static_cast<double>(shape.workers) * static_cast<double>(shape.workers) *
                       (static_cast<double>(shape.chunks) + static_cast<double>(shape.workers) - 2);
  if (terms > static_cast<double>(max_trace_terms)) {
    throw std::invalid_argument(
        fmt::format("a trace of {} workers and {} chunks has about N^2 L = {:.3g} terms, more than the {} that fit; "
                    "trace a smaller "
                    "ring, its rounds follow the same pattern",
                    shape.workers, shape.chunks, terms, max_trace_terms));
  }
  const std::int64_t last = last_first_kept_round(shape);
  if (decoder == Decoder::paper && shape.workers < 2) {
    throw std::invalid_argument("the paper's decoder needs at least 2 workers; take own-exact decoding");
  }
  if (decoder == Decoder::paper && first_kept_round != last) {
    throw std::invalid_argument(fmt::format(
        "first kept round is {}; the paper's decoder for {} workers has {}, take own-exact decoding for others",
        first_kept_round, shape.workers, last));
  }
  if (first_kept_round < 1 || first_kept_round > last) {
    throw std::invalid_argument(
        fmt::format("first kept round is {}; for {} workers it must be from 1 (all L vectors) to {} (the last c)",
                    first_kept_round, shape.workers, last));
  }
}

TraceSum without(TraceSum sum, const TraceTerm& term) {
  const auto place = std::find(sum.begin(), sum.end(), term);
  if (place == sum.end()) {
    throw std::logic_error(
        fmt::format("trace: delta[{},{}] is to be removed but is not there", term.worker, term.round));
  }
  sum.erase(place);
  return sum;
}

TraceSum with(TraceSum sum, const TraceTerm& term) {
  sum.push_back(term);
  return sum;
}

/// What worker i puts aside in round t, once the step's other fields are filled.
std::vector<KeptVector> kept_in_round(const Trace& trace, const TraceStep& step, std::int64_t t) {
  using Kind = KeptVector::Kind;
  const std::int64_t N = trace.shape.workers;
  std::vector<KeptVector> kept;
  if (trace.decoder == Decoder::own_exact) {
    if (t >= trace.first_kept_round) {
      kept.push_back({Kind::others, t, step.others});
    }
    return kept;
  }
  if (t == N) {  // the first sum over all workers is the one it sends itself
    kept.push_back({Kind::sent, t, step.sent});
  }
  if (t >= N) {
    kept.push_back({Kind::received, t, step.received});
  }
  return kept;
}

TraceStep run_step(const Trace& trace, const std::vector<TraceSum>& on_wire, std::int64_t i, std::int64_t t) {
  const std::int64_t N = trace.shape.workers;
  TraceStep step;
  step.worker = i;
  step.sends_to = wrap(i + 1, N);
  step.receives_from = wrap(i - 1, N);
  step.sent = on_wire[static_cast<std::size_t>(i)];
  step.received = on_wire[static_cast<std::size_t>(step.receives_from)];  // r_{i,t} = s_{i-1,t}
  step.others = step.received;
  if (t >= N) {
    step.removed = TraceTerm{i, t - N + 1};
    step.others = without(std::move(step.others), *step.removed);  // o_{i,t} = r_{i,t} - delta_{i,t-N+1}
  }
  if (t < trace.shape.rounds()) {
    step.added = TraceTerm{i, t + 1};
  }
  step.kept = kept_in_round(trace, step, t);
  return step;
}

}  // namespace

std::int64_t last_first_kept_round(const RingShape& shape) noexcept {
  return std::max<std::int64_t>(1, shape.workers - 1);
}

Trace trace_protocol(const RingShape& shape, Decoder decoder, std::int64_t first_kept_round) {
  validate_request(shape, decoder, first_kept_round);
  Trace trace{shape, decoder, first_kept_round, {}, {}};
  const auto workers = static_cast<std::size_t>(shape.workers);
  trace.kept.resize(workers);
  std::vector<TraceSum> on_wire(workers);  // s_{i,t} of the round about to begin
  for (std::int64_t i = 0; i < shape.workers; ++i) {
    on_wire[static_cast<std::size_t>(i)] = {{i, 1}};  // s_{i,1} = delta_{i,1}
  }
  for (std::int64_t t = 1; t <= shape.rounds(); ++t) {
    std::vector<TraceStep> round;
    for (std::int64_t i = 0; i < shape.workers; ++i) {
      round.push_back(run_step(trace, on_wire, i, t));
    }
    for (std::size_t i = 0; i < workers; ++i) {
      const TraceStep& step = round[i];
      trace.kept[i].insert(trace.kept[i].end(), step.kept.begin(), step.kept.end());
      if (step.added) {  // s_{i,t+1} = o_{i,t} + delta_{i,t+1}
        on_wire[i] = with(step.others, *step.added);
      }
    }
    trace.rounds.push_back(std::move(round));
  }
  return trace;
}

}  // namespace cerar
