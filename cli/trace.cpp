#include "coding/trace.h"

#include "cli/commands.h"
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

namespace cerar::cli {
namespace {

struct TraceOptions {
  std::optional<std::int64_t> workers, chunks, first_kept_round, worker;
  std::string decoder = "own-exact", code_file, html_file;
  bool json = false, all = false;
};

Trace make_trace(const TraceOptions& options, const std::optional<Code>& code) {
  if (code) {
    return trace_protocol(code->shape, code->decoder, code->first_kept_round);
  }
  if (!options.workers || !options.chunks) {
    throw std::invalid_argument(
        "trace needs --workers and --chunks, or --code FILE; try cerar trace --workers 4 --chunks 5");
  }
  const RingShape shape{*options.workers, *options.chunks};
  validate(shape);
  const Decoder decoder = options.decoder == "paper" ? Decoder::paper : Decoder::own_exact;
  const std::int64_t usual = decoder == Decoder::paper ? last_first_kept_round(shape) : 1;
  return trace_protocol(shape, decoder, options.first_kept_round.value_or(usual));
}

void run_trace(const TraceOptions& options) {
  std::optional<Code> code;
  if (!options.code_file.empty()) {
    code = read_shift_code_file(options.code_file);
  }
  const Code* given = code ? &*code : nullptr;
  const Trace trace = make_trace(options, code);
  if (options.worker && (*options.worker < 0 || *options.worker >= trace.shape.workers)) {
    throw std::invalid_argument(fmt::format("--worker is {}; the {} workers are numbered 0 to {}", *options.worker,
                                            trace.shape.workers, trace.shape.workers - 1));
  }
  if (!options.html_file.empty()) {
    write_file_atomically(options.html_file, trace_page(trace, options.worker.value_or(0), given));
  }
  if (options.json) {
    fmt::print("{}\n", trace_json(trace, options.worker, given).dump());
    return;
  }
  fmt::print("{}", trace_text(trace, {options.worker, options.all}, given));
  if (!options.html_file.empty()) {
    fmt::print("\nThe animated page is {}; open it in a browser.\n", options.html_file);
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
                   "Take shape, decoder and f from this code file; show its encoding vectors")
      ->excludes(workers)
      ->excludes(chunks)
      ->excludes(decoder)
      ->excludes(first);
  command->add_option("--worker", options->worker, "Only this worker's view, 0 to N - 1");
  command->add_flag("--all", options->all, "Print every worker, round and term, however many");
  command->add_flag("--json", options->json, "Print the schedule as one JSON object");
  command->add_option("--html", options->html_file, "Also write a self-contained page that animates the rounds");
  command->footer("Example: cerar trace --workers 4 --chunks 5 --html trace.html");
  command->callback([options] { run_trace(*options); });
}

}  // namespace cerar::cli
