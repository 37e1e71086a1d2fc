#include "cli/piggyback_trace_report.h"

#include "cli/trace_table.h"

#include <fmt/core.h>

#include <numeric>
#include <set>
#include <string_view>
#include <vector>

namespace cerar::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t many_workers = 8;  // above this, only one worker is printed unless everything is asked for
constexpr std::int64_t many_rounds = 40;  // above this, the rounds that repeat a pattern are left out
constexpr std::size_t many_terms = 6;     // above this, the middle of a sum is left out

std::int64_t groups_of(const PiggybackTrace& trace) { return trace.shape.chunks / trace.shape.workers; }

bool leads(const PiggybackTrace& trace, const PiggybackStep& step) {
  return step.serving.role == trace.shape.workers - 1 && step.serving.pass < groups_of(trace);
}

/// "b1[2] + b1[3]"
std::string partial_text(const PiggybackSymbols& message, bool everything) {
  std::string text;
  for (std::size_t k = 0; k < message.workers.size(); ++k) {
    if (!everything && message.workers.size() > many_terms && k == 2) {
      k = message.workers.size() - 2;
      text += fmt::format(" + ... {} more ...", message.workers.size() - 4);
    }
    text += fmt::format("{}b{}[{}]", k == 0 ? "" : " + ", *message.riding, message.workers[k]);
  }
  return text;
}

std::string message_text(const PiggybackSymbols& message, bool everything) {
  const std::string partial = partial_text(message, everything);
  if (!message.whole) {
    return partial.empty() ? "-" : partial;
  }
  const std::string whole = fmt::format("M{}", *message.whole);
  if (partial.empty()) {
    return whole;
  }
  return whole + (message.workers.size() == 1 ? fmt::format(" + d {}", partial) : fmt::format(" + d ({})", partial));
}

std::string rule_text(const PiggybackStep& step) {
  const std::int64_t pass = step.serving.pass;
  switch (step.action) {
    case PiggybackAction::add:
      return step.serving.role == 0 ? "b0" : "r + b0";
    case PiggybackAction::superpose:
      return fmt::format("r + d b{}", pass);
    case PiggybackAction::lead:
      return fmt::format("(r - M{})/d + b{}", pass - 1, pass);
    case PiggybackAction::forward:
      return "r";
    case PiggybackAction::read:
      break;
  }
  return "-";
}

std::string learned_text(const PiggybackTrace& trace, const PiggybackStep& step) {
  std::string text;
  if (step.learned) {
    text = leads(trace, step) ? fmt::format("y{0} = M{0}", *step.learned) : fmt::format("y{} = r", *step.learned);
  }
  for (std::size_t k = 0; k < step.finished.size(); ++k) {
    text += fmt::format("{} S{}", k == 0 ? ", final:" : "", step.finished[k]);
  }
  return text.empty() ? "-" : text;
}

std::string role_text(const PiggybackTrace& trace, const PiggybackStep& step) {
  return fmt::format("{}{}", step.serving.role, leads(trace, step) ? " leads" : "");
}

std::string heading(const PiggybackTrace& trace, const PiggybackCode* code) {
  const RingShape& shape = trace.shape;
  std::string text = fmt::format(
      "piggyback ring: {} workers, {} chunks in q = {} groups of {}, one of each group on every chain\n"
      "rounds L = c + N - 2 = {}, rate L/c = {:.4g} (exact ring: 2(N-1)/N = {:.4g})\n",
      shape.workers, shape.chunks, groups_of(trace), shape.workers, shape.rounds(), shape.rate(),
      shape.exact_ring_rate());
  if (code != nullptr) {
    text += fmt::format("d = {:.4g}{}\n", code->d,
                        code->is_integer()   ? ", against each chunk's own peak"
                        : code->adapts_scale ? ", times a power of two where neighbouring groups differ in size"
                                             : "");
  }
  return text;
}

constexpr const char* legend =
    "  In round t worker i reads r, what worker i-1 sent in round t-1, and sends to worker i+1. It serves chain\n"
    "  m = (i-t+1) mod N in role w = (t-1) mod N and pass g = floor((t-1)/N). Within a chain:\n"
    "  bg[i]  worker i's contribution to group g: its chunk (g,m), with a little of its chunk (g+1,m) mixed in\n"
    "  Mg     the sum of all workers' bg; role N-1 leads: it completes Mg, and later takes the same bits away again\n"
    "  yg     what a worker knows of the sum Sg: Mg itself in roles 0 and N-1, else Mg + d (what rode on it)\n"
    "  Sg     the result: yg less the part of its error that the worker knows, final once it has y of group g+1\n";

std::string round_note(const PiggybackTrace& trace, std::int64_t t) {
  const std::int64_t N = trace.shape.workers;
  const std::int64_t pass = (t - 1) / N;
  if (t > trace.shape.rounds()) {
    return "nothing is sent; what came last is read";
  }
  if (pass == groups_of(trace)) {
    return fmt::format("the last group's sums M{} are handed round", pass - 1);
  }
  const bool last_role = t % N == 0;
  if (pass == 0) {
    return last_role ? "the sums M0 are complete" : "partial sums of group 0";
  }
  return last_role ? fmt::format("M{} is taken off, the sums M{} are complete", pass - 1, pass)
                   : fmt::format("M{} is handed round, partial sums of group {} ride on it", pass - 1, pass);
}

/// All rounds, or where they are many those of the beginning, the first leads and the end: the rest repeat the pattern.
std::vector<std::int64_t> shown_rounds(const PiggybackTrace& trace, bool everything) {
  std::vector<std::int64_t> rounds(trace.rounds.size());
  std::iota(rounds.begin(), rounds.end(), 1);
  if (everything || trace.shape.rounds() <= many_rounds) {
    return rounds;
  }
  const std::int64_t N = trace.shape.workers;
  const std::int64_t last = trace.shape.rounds() + 1;
  const std::set<std::int64_t> interesting{1, 2, N, N + 1, N + 2, 2 * N, 2 * N + 1, last - N + 1, last - 1, last};
  std::erase_if(rounds, [&](std::int64_t t) { return !interesting.contains(t); });
  return rounds;
}

std::string skipped_text(std::int64_t from, std::int64_t to) {
  return fmt::format("... rounds {} to {} follow the same pattern (--all prints them)\n", from, to);
}

std::string all_workers_text(const PiggybackTrace& trace, bool everything) {
  std::string text;
  std::int64_t last = 0;
  for (const std::int64_t t : shown_rounds(trace, everything)) {
    if (t > last + 1) {
      text += "\n" + skipped_text(last + 1, t - 1);
    }
    TraceTable table({"worker", "chain", "role", "pass", "sends", "by", "knows"}, {0, 0, 0, 0, 48});
    for (const PiggybackStep& step : trace.rounds[static_cast<std::size_t>(t - 1)]) {
      table.add({std::to_string(step.worker), std::to_string(step.serving.chain), role_text(trace, step),
                 std::to_string(step.serving.pass), message_text(step.sent, everything), rule_text(step),
                 learned_text(trace, step)});
    }
    text += t > trace.shape.rounds() ? "\nAfter the last round: "
                                     : fmt::format("\nRound {} of {}: ", t, trace.shape.rounds());
    text += round_note(trace, t) + "\n" + table.text();
    last = t;
  }
  return text;
}

std::string one_worker_text(const PiggybackTrace& trace, std::int64_t worker, bool everything) {
  TraceTable table({"round", "chain", "role", "pass", "receives r", "sends", "by", "knows"}, {0, 0, 0, 0, 28, 28});
  std::string notes;
  std::int64_t last = 0;
  for (const std::int64_t t : shown_rounds(trace, everything)) {
    if (t > last + 1) {
      table.add({"..."});
      notes += skipped_text(last + 1, t - 1);
    }
    const PiggybackStep& step = trace.rounds[static_cast<std::size_t>(t - 1)][static_cast<std::size_t>(worker)];
    table.add({t > trace.shape.rounds() ? "after" : std::to_string(t), std::to_string(step.serving.chain),
               role_text(trace, step), std::to_string(step.serving.pass), message_text(step.received, everything),
               message_text(step.sent, everything), rule_text(step), learned_text(trace, step)});
    last = t;
  }
  return fmt::format("\nWorker {}: receives from {}, sends to {}\n", worker, wrap(worker - 1, trace.shape.workers),
                     wrap(worker + 1, trace.shape.workers)) +
         table.text() + notes;
}

std::string_view action_name(PiggybackAction action) {
  switch (action) {
    case PiggybackAction::add:
      return "add";
    case PiggybackAction::superpose:
      return "superpose";
    case PiggybackAction::lead:
      return "lead";
    case PiggybackAction::forward:
      return "forward";
    case PiggybackAction::read:
      break;
  }
  return "read";
}

Json group_json(const std::optional<std::int64_t>& group) { return group ? Json(*group) : Json(nullptr); }

Json message_json(const PiggybackSymbols& message) {
  return {{"whole", group_json(message.whole)}, {"riding", group_json(message.riding)}, {"workers", message.workers}};
}

Json step_json(const PiggybackStep& step, std::int64_t workers) {
  return {{"worker", step.worker},
          {"sends_to", wrap(step.worker + 1, workers)},
          {"receives_from", wrap(step.worker - 1, workers)},
          {"chain", step.serving.chain},
          {"role", step.serving.role},
          {"pass", step.serving.pass},
          {"action", action_name(step.action)},
          {"received", message_json(step.received)},
          {"sent", message_json(step.sent)},
          {"learned", group_json(step.learned)},
          {"finished", step.finished}};
}

}  // namespace

std::string piggyback_trace_text(const PiggybackTrace& trace, const TraceTextOptions& options,
                                 const PiggybackCode* code) {
  const bool single = options.worker || (trace.shape.workers > many_workers && !options.everything);
  std::string text = heading(trace, code) + "\n" + legend;
  text += single ? one_worker_text(trace, options.worker.value_or(0), options.everything)
                 : all_workers_text(trace, options.everything);
  if (single && !options.worker) {
    text += fmt::format("\nWorker 0 of {} is shown; the others do the same. --worker i shows another, --all all.\n",
                        trace.shape.workers);
  }
  return text;
}

Json piggyback_trace_json(const PiggybackTrace& trace, std::optional<std::int64_t> worker, const PiggybackCode* code) {
  const RingShape& shape = trace.shape;
  Json json{{"workers", shape.workers},
            {"chunks", shape.chunks},
            {"rounds", shape.rounds()},
            {"rate", shape.rate()},
            {"exact_ring_rate", shape.exact_ring_rate()},
            {"groups", groups_of(trace)}};
  if (code != nullptr) {
    json["d"] = code->d;
  }
  json["schedule"] = Json::array();
  for (std::size_t t = 0; t < trace.rounds.size(); ++t) {
    Json steps = Json::array();
    for (const PiggybackStep& step : trace.rounds[t]) {
      if (!worker || *worker == step.worker) {
        steps.push_back(step_json(step, shape.workers));
      }
    }
    json["schedule"].push_back({{"round", t + 1}, {"steps", steps}});
  }
  return json;
}

}  // namespace cerar::cli
