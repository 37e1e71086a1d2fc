#include "cli/trace_text.h"

#include "cli/trace_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <vector>

namespace cerar::cli {
namespace {

constexpr std::int64_t many_workers = 8;  // above this, only one worker is printed unless everything is asked for
constexpr std::int64_t many_rounds = 40;  // above this, the rounds that repeat a pattern are left out
constexpr std::size_t many_terms = 8;     // above this, the middle of a sum is left out
constexpr Eigen::Index many_columns = 8;  // above this, the rest of an encoding vector is left out

std::string term_text(const TraceTerm& term) { return fmt::format("δ[{},{}]", term.worker, term.round); }

std::string term_text(const std::optional<TraceTerm>& term) { return term ? term_text(*term) : "-"; }

std::string sum_text(const TraceSum& sum, bool everything) {
  if (sum.empty()) {
    return "0";
  }
  std::string text;
  for (std::size_t k = 0; k < sum.size(); ++k) {
    if (!everything && sum.size() > many_terms && k == 3) {
      k = sum.size() - 3;
      text += fmt::format(" + ... {} more ...", sum.size() - 6);
    }
    text += (k == 0 ? "" : " + ") + term_text(sum[k]);
  }
  return text;
}

std::string kept_text(const TraceStep& step) {
  std::string text;
  for (const KeptVector& vector : step.kept) {
    text += (text.empty() ? "" : " ") + vector_name(vector, step.worker);
  }
  return text.empty() ? "-" : text;
}

std::string heading(const Trace& trace) {
  const RingShape& shape = trace.shape;
  return fmt::format(
      "{} workers in a ring, {} chunks, {} decoding from {} vectors kept in rounds {} to L\n"
      "rounds L = c + N - 2 = {}, rate L/c = {:.4g} (exact ring: 2(N-1)/N = {:.4g})\n",
      shape.workers, shape.chunks, name(trace.decoder), trace.kept.front().size(),
      trace.decoder == Decoder::paper ? shape.workers : trace.first_kept_round, shape.rounds(), shape.rate(),
      shape.exact_ring_rate());
}

constexpr const char* legend =
    "  δ[i,t]  worker i's c chunks, weighted by its encoding vector for round t: G[i] u[i,t]\n"
    "  s[i,t]  what worker i sends to worker i+1 in round t; r[i,t] = s[i-1,t] is what it receives\n"
    "  o[i,t]  r[i,t] without the returning δ[i,t-N+1], which worker i removes from round N on\n"
    "  Then s[i,t+1] = o[i,t] + δ[i,t+1]. Workers are counted modulo N; oldest contributions come first.\n";

std::string round_note(const Trace& trace, std::int64_t t) {
  const std::int64_t N = trace.shape.workers;
  if (t < N) {
    return "messages grow by one contribution";
  }
  if (t == N) {
    return "the first contributions have been all the way round and are removed";
  }
  return "every message sums all workers, the oldest contribution goes";
}

/// All rounds, or where they are many the first three, those around round N and the last two: the rest repeat the
/// pattern.
std::vector<std::int64_t> shown_rounds(const Trace& trace, bool everything) {
  const std::int64_t L = trace.shape.rounds();
  std::vector<std::int64_t> rounds(static_cast<std::size_t>(L));
  std::iota(rounds.begin(), rounds.end(), 1);
  if (everything || L <= many_rounds) {
    return rounds;
  }
  const std::int64_t N = trace.shape.workers;
  const std::set<std::int64_t> interesting{1, 2, 3, N - 1, N, N + 1, N + 2, L - 1, L};
  std::erase_if(rounds, [&](std::int64_t t) { return !interesting.contains(t); });
  return rounds;
}

std::string skipped_text(const Trace& trace, std::int64_t from, std::int64_t to) {
  const char* pattern = to < trace.shape.workers ? "messages go on growing by one contribution a round"
                                                 : "the same with every round number one higher each time";
  return fmt::format("... rounds {} to {}: {} (--all prints them)\n", from, to, pattern);
}

std::string round_text(const Trace& trace, std::int64_t t, bool everything) {
  TraceTable table({"link", fmt::format("carries s[i,{}]", t), "receiver removes", "keeps", "adds"}, {0, 62});
  const auto& steps = trace.rounds[static_cast<std::size_t>(t - 1)];
  for (const TraceStep& step : steps) {
    const TraceStep& receiver = steps[static_cast<std::size_t>(step.sends_to)];
    table.add({fmt::format("{} -> {}", step.worker, step.sends_to), sum_text(step.sent, everything),
               term_text(receiver.removed), kept_text(receiver), term_text(receiver.added)});
  }
  return fmt::format("\nRound {} of {}: {}\n", t, trace.shape.rounds(), round_note(trace, t)) + table.text();
}

std::string all_workers_text(const Trace& trace, bool everything) {
  std::string text;
  std::int64_t last = 0;
  for (const std::int64_t t : shown_rounds(trace, everything)) {
    if (t > last + 1) {
      text += "\n" + skipped_text(trace, last + 1, t - 1);
    }
    text += round_text(trace, t, everything);
    last = t;
  }
  return text;
}

std::string one_worker_text(const Trace& trace, std::int64_t worker, bool everything) {
  const std::int64_t N = trace.shape.workers;
  const std::size_t widest = 34;
  TraceTable table({"round", fmt::format("sends s[{},t]", worker), fmt::format("receives r[{},t]", worker), "removes",
                    "keeps", "adds"},
                   {0, widest, widest});
  std::string notes;
  std::int64_t last = 0;
  for (const std::int64_t t : shown_rounds(trace, everything)) {
    if (t > last + 1) {
      table.add({"..."});
      notes += skipped_text(trace, last + 1, t - 1);
    }
    const TraceStep& step = trace.rounds[static_cast<std::size_t>(t - 1)][static_cast<std::size_t>(worker)];
    table.add({std::to_string(t), sum_text(step.sent, everything), sum_text(step.received, everything),
               term_text(step.removed), kept_text(step), term_text(step.added)});
    last = t;
  }
  return fmt::format("\nWorker {}: receives from {}, sends to {}\n", worker, wrap(worker - 1, N), wrap(worker + 1, N)) +
         table.text() + notes;
}

std::string decoding_text(const Trace& trace, std::int64_t worker, bool everything) {
  const auto& kept = trace.kept[static_cast<std::size_t>(worker)];
  std::string text = fmt::format("\nDecoding at worker {}: {}\n", worker, decoding_equation(trace, worker));
  if (kept.empty()) {
    return text + "  One worker's own gradient is the sum already: nothing is sent.\n";
  }
  text += fmt::format("  R[{}] is {} x {}, one row for each kept vector, one column for each chunk of the sum\n",
                      worker, kept.size(), trace.shape.chunks);
  TraceTable table({"kept", "sum of"}, {0, 90});
  for (std::size_t m = 0; m < kept.size(); ++m) {
    const auto size = static_cast<std::int64_t>(kept.size());
    const auto row = static_cast<std::int64_t>(m);
    if (!everything && size > many_rounds && row == 4) {
      m = kept.size() - 2;
      table.add({"...", fmt::format("{} more", size - 6)});
    }
    table.add({vector_name(kept[m], worker), sum_text(kept[m].sum, everything)});
  }
  return text + table.text();
}

std::string encoders_text(const Trace& trace, const Code& code, std::int64_t worker, bool everything) {
  const Eigen::MatrixXd& U = code.encoders[static_cast<std::size_t>(worker)];
  const Eigen::Index columns = everything ? U.cols() : std::min(U.cols(), many_columns);
  std::vector<std::string> titles{"u"};
  for (Eigen::Index k = 0; k < columns; ++k) {
    titles.push_back(fmt::format("chunk {}", k));
  }
  if (columns < U.cols()) {
    titles.push_back(fmt::format("{} more", U.cols() - columns));
  }
  TraceTable table(titles, {});
  for (const std::int64_t t : shown_rounds(trace, everything)) {
    std::vector<std::string> row{fmt::format("u[{},{}]", worker, t)};
    for (Eigen::Index k = 0; k < columns; ++k) {
      row.push_back(fmt::format("{: .3g}", U(t - 1, k)));
    }
    if (columns < U.cols()) {
      row.emplace_back("...");
    }
    table.add(row);
  }
  return fmt::format("\nEncoding vectors of worker {}: δ[{},t] = G[{}] u[{},t]\n", worker, worker, worker, worker) +
         table.text();
}

}  // namespace

std::string vector_name(const KeptVector& vector, std::int64_t worker) {
  const char letter = vector.kind == KeptVector::Kind::sent       ? 's'
                      : vector.kind == KeptVector::Kind::received ? 'r'
                                                                  : 'o';
  return fmt::format("{}[{},{}]", letter, worker, vector.round);
}

std::string decoding_equation(const Trace& trace, std::int64_t worker) {
  const auto& kept = trace.kept[static_cast<std::size_t>(worker)];
  const std::string own = fmt::format("ghat[{}] = ", worker);
  if (kept.empty()) {
    return own + fmt::format("G[{}]", worker);
  }
  std::string list = vector_name(kept[0], worker);
  if (kept.size() > 1) {
    list += (kept.size() > 2 ? " .. " : " ") + vector_name(kept.back(), worker);
  }
  if (trace.decoder == Decoder::own_exact) {
    return own + fmt::format("G[{}] + ({}) R[{}]", worker, list, worker);
  }
  if (kept.size() > 2) {  // s_{i,N} does not begin the same series as r_{i,N} .. r_{i,L}
    list = fmt::format("{} {} .. {}", vector_name(kept[0], worker), vector_name(kept[1], worker),
                       vector_name(kept.back(), worker));
  }
  return own + fmt::format("({}) R[{}]", list, worker);
}

std::string trace_text(const Trace& trace, const TraceTextOptions& options, const Code* code) {
  const bool single = options.worker || (trace.shape.workers > many_workers && !options.everything);
  const std::int64_t worker = options.worker.value_or(0);
  std::string text = heading(trace) + "\n" + legend;
  if (trace.shape.workers == 1 && trace.shape.rounds() > 0) {
    text += "  One worker: the ring is a loop to itself, every o is zero and its own gradient is the sum.\n";
  }
  text += single ? one_worker_text(trace, worker, options.everything) : all_workers_text(trace, options.everything);
  text += decoding_text(trace, worker, options.everything);
  if (code != nullptr) {
    text += encoders_text(trace, *code, worker, options.everything);
  }
  if (!options.worker && trace.shape.workers > 1) {
    text += single ? fmt::format(
                         "\nWorker 0 of {} is shown; the others do the same. --worker i shows another, --all all.\n",
                         trace.shape.workers)
                   : "\nThe other workers decode in the same way; --worker i shows one of them alone.\n";
  }
  return text;
}

}  // namespace cerar::cli
