#include "coding/trace.h"

#include "cli/commands.h"
#include "cli/piggyback_trace_report.h"
#include "cli/trace_html.h"
#include "cli/trace_json.h"
#include "cli/trace_text.h"
#include "coding/atomic_file.h"
#include "coding/code_file.h"

#include <fmt/core.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

namespace cerar::cli {
namespace {

struct TraceOptions {
  std::optional<std::int64_t> workers, chunks, first_kept_round, worker;
  std::string construction = "shift", decoder = "own-exact", code_file, html_file;
  bool json = false, all = false;
};

RingShape asked_shape(const TraceOptions& options) {
  if (!options.workers || !options.chunks) {
    throw std::invalid_argument(
        "trace needs --workers and --chunks, or --code FILE; try cerar trace --workers 4 --chunks 5");
  }
  const RingShape shape{*options.workers, *options.chunks};
  validate(shape);
  return shape;
}

void check_worker(const TraceOptions& options, const RingShape& shape) {
  if (options.worker && (*options.worker < 0 || *options.worker >= shape.workers)) {
    throw std::invalid_argument(fmt::format("--worker is {}; the {} workers are numbered 0 to {}", *options.worker,
                                            shape.workers, shape.workers - 1));
  }
}

Trace make_trace(const TraceOptions& options, const Code* code) {
  if (code != nullptr) {
    return trace_protocol(code->shape, code->decoder, code->first_kept_round);
  }
  const RingShape shape = asked_shape(options);
  const Decoder decoder = options.decoder == "paper" ? Decoder::paper : Decoder::own_exact;
  const std::int64_t usual = decoder == Decoder::paper ? last_first_kept_round(shape) : 1;
  return trace_protocol(shape, decoder, options.first_kept_round.value_or(usual));
}

/// @param code  null: the shape is taken from the options
void trace_shift(const TraceOptions& options, const Code* code) {
  const Trace trace = make_trace(options, code);
  check_worker(options, trace.shape);
  if (!options.html_file.empty()) {
    write_file_atomically(options.html_file, trace_page(trace, options.worker.value_or(0), code));
  }
  if (options.json) {
    fmt::print("{}\n", trace_json(trace, options.worker, code).dump());
    return;
  }
  fmt::print("{}", trace_text(trace, {options.worker, options.all}, code));
  if (!options.html_file.empty()) {
    fmt::print("\nThe animated page is {}; open it in a browser.\n", options.html_file);
  }
}

/// @param code  null: the shape is taken from the options
void trace_piggyback_ring(const TraceOptions& options, const PiggybackCode* code) {
  if (!options.html_file.empty()) {
    throw std::invalid_argument(
        "--html animates shift codes only; the piggyback ring is traced as text or with --json");
  }
  if (options.decoder != "own-exact" || options.first_kept_round) {
    throw std::invalid_argument(
        "--decoder and --first-kept-round are for shift codes; the piggyback ring decodes in one way");
  }
  const PiggybackTrace trace = trace_piggyback(code != nullptr ? code->shape : asked_shape(options));
  check_worker(options, trace.shape);
  if (options.json) {
    fmt::print("{}\n", piggyback_trace_json(trace, options.worker, code).dump());
    return;
  }
  fmt::print("{}", piggyback_trace_text(trace, {options.worker, options.all}, code));
}

void run_trace(const TraceOptions& options) {
  if (options.code_file.empty()) {
    options.construction == "piggyback" ? trace_piggyback_ring(options, nullptr) : trace_shift(options, nullptr);
    return;
  }
  const RingCode code = read_code_file(options.code_file);
  if (const auto* piggyback = std::get_if<PiggybackCode>(&code)) {
    trace_piggyback_ring(options, piggyback);
  } else {
    trace_shift(options, &std::get<Code>(code));
  }
}

}  // namespace

void add_trace(CLI::App& app) {
  auto* command = app.add_subcommand(
      "trace",
      "Print the protocol round by round: who sends which combination to whom, what is removed, kept and decoded");
  auto options = std::make_shared<TraceOptions>();
  auto* workers = command->add_option("--workers", options->workers, "N, workers in the ring, at least 1");
  auto* chunks = command->add_option("--chunks", options->chunks, "c, chunks a gradient is cut in, at least N");
  auto* construction = command
                           ->add_option("--construction", options->construction,
                                        "shift: the protocol of codes with U and R; piggyback: the piggyback ring")
                           ->check(CLI::IsMember({"shift", "piggyback"}))
                           ->capture_default_str();
  auto* decoder = command
                      ->add_option("--decoder", options->decoder,
                                   "own-exact: keep vectors without the own contribution; "
                                   "paper: keep s_N, r_N .. r_L")
                      ->check(CLI::IsMember({"own-exact", "paper"}))
                      ->capture_default_str();
  auto* first = command->add_option("--first-kept-round", options->first_kept_round,
                                    "f: vectors of rounds f .. L are kept (own-exact: 1 to N - 1, default 1)");
  command
      ->add_option("--code", options->code_file,
                   "Take shape, decoder and f from this code file, of either kind; show its encoding vectors")
      ->excludes(workers)
      ->excludes(chunks)
      ->excludes(construction)
      ->excludes(decoder)
      ->excludes(first);
  command->add_option("--worker", options->worker, "Only this worker's view, 0 to N - 1");
  command->add_flag("--all", options->all, "Print every worker, round and term, however many");
  command->add_flag("--json", options->json, "Print the schedule as one JSON object");
  command->add_option("--html", options->html_file, "Also write a self-contained page that animates the rounds");
  command->footer(
      "Example: cerar trace --workers 4 --chunks 5 --html trace.html\n"
      "         cerar trace --construction piggyback --workers 4 --chunks 8");
  command->callback([options] { run_trace(*options); });
}

}  // namespace cerar::cli
