#include "experiments/bench/bench.h"

#include "cli/commands.h"
#include "cli/ring_place.h"
#include "coding/atomic_file.h"
#include "experiments/bench/trace.h"
#include "version.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cerar::cli {

namespace {

struct Options {
  std::optional<std::int64_t> workers;
  std::string code_file;
  std::vector<std::string> algorithms;
  std::string sizes = "4K:64M";
  bench::BenchOptions bench;
  std::optional<double> timeout_seconds;
  std::string json_file;
  std::string trace_file;
  std::size_t trace_events = 65536;
};

nlohmann::ordered_json to_json(const std::vector<bench::RankProfile>& profile) {
  auto ranks = nlohmann::ordered_json::array();
  for (const bench::RankProfile& rank : profile) {
    nlohmann::ordered_json entry = {{"rank", ranks.size()},
                                    {"unprofiled_us", rank.unprofiled_us},
                                    {"profiled_us", rank.profiled_us},
                                    {"communication_us", rank.communication_us()},
                                    {"computation_us", rank.computation_us()}};
    for (std::size_t phase = 0; phase < kPhases; ++phase) {
      entry[fmt::format("{}_us", name(static_cast<Phase>(phase)))] = rank.phase_us[phase];
    }
    ranks.push_back(entry);
  }
  return ranks;
}

nlohmann::ordered_json to_json(const bench::BenchRow& row) {
  nlohmann::ordered_json json = {{"algorithm", row.algorithm},
                                 {"workers", row.workers},
                                 {"count", row.count},
                                 {"size_bytes", row.size_bytes},
                                 {"wire", row.wire},
                                 {"time_us", row.time_us},
                                 {"time_min_us", row.time_min_us},
                                 {"time_max_us", row.time_max_us},
                                 {"times_us", row.times_us},
                                 {"local_us", row.local_us},
                                 {"cpu_us", row.cpu_us},
                                 {"algbw_gbps", row.algbw_gbps},
                                 {"busbw_gbps", row.busbw_gbps},
                                 {"wrong", row.wrong},
                                 {"wire_bytes", row.wire_bytes},
                                 {"extra_memory_bytes", row.extra_memory_bytes},
                                 {"rel_l2", row.rel_l2},
                                 {"rank_div", row.rank_div}};
  if (!row.profile.empty()) {
    json["profile"] = to_json(row.profile);
  }
  return json;
}

/// The whole report so far; written again after every row, so that an interrupted run keeps what it measured.
class Report {
 public:
  Report(const Options& options, std::int64_t workers, const std::optional<RingCode>& code) : file_(options.json_file) {
    document_ = {{"version", CERAR_VERSION},
                 {"workers", workers},
                 {"warmup", options.bench.warmup},
                 {"iterations", options.bench.iterations},
                 {"back_to_back", options.bench.back_to_back},
                 {"checks", options.bench.checks},
                 {"seed", options.bench.seed},
                 {"correlation", options.bench.correlation}};
    if (code) {
      document_["code"] = {{"chunks", shape_of(*code).chunks},
                           {"construction", construction_of(*code)},
                           {"hash", fmt::format("{:016x}", hash(*code))},
                           {"predicted_relative_error", predicted_relative_error(*code)}};
    }
    document_["rows"] = nlohmann::ordered_json::array();
    write();
  }

  void add(const bench::BenchRow& row) {
    document_["rows"].push_back(to_json(row));
    write();
  }

 private:
  void write() const {
    if (!file_.empty()) {
      write_file_atomically(file_, document_.dump(2) + "\n");
    }
  }

  std::string file_;
  nlohmann::ordered_json document_;
};

void print_header(const Options& options, std::int64_t workers, const std::optional<RingCode>& code) {
  fmt::print("# cerar {}: {} workers, {} warm-ups, {} iterations, seed {}\n", CERAR_VERSION, workers,
             options.bench.warmup, options.bench.iterations, options.bench.seed);
  if (code) {
    fmt::print("# code: {}, c = {}, rate {:.4f} (exact ring {:.4f}), predicted error {:.3g}\n", construction_of(*code),
               shape_of(*code).chunks, shape_of(*code).rate(), shape_of(*code).exact_ring_rate(),
               predicted_relative_error(*code));
  }
  fmt::print("#\n#{:>11} {:>10} {:>6} {:>6} {:>9} {:>11} {:>8} {:>8} {:>7} {:>12} {:>9} {:>9}\n", "size", "count",
             "type", "redop", "algorithm", "time", "algbw", "busbw", "#wrong", "wire", "rel_l2", "rank_div");
  fmt::print("#{:>11} {:>10} {:>6} {:>6} {:>9} {:>11} {:>8} {:>8} {:>7} {:>12} {:>9} {:>9}\n", "(B)", "(values)", "",
             "", "", "(us)", "(GB/s)", "(GB/s)", "", "(B sent)", "", "");
}

void print_row(const bench::BenchRow& row) {
  fmt::print("{:>12} {:>10} {:>6} {:>6} {:>9} {:>11.1f} {:>8.3f} {:>8.3f} {:>7} {:>12} {:>9.2e} {:>9.2e}\n",
             row.size_bytes, row.count, "float", "sum", row.algorithm, row.time_us, row.algbw_gbps, row.busbw_gbps,
             row.wrong, row.wire_bytes, row.rel_l2, row.rank_div);
  std::fflush(stdout);
}

void print_profile(const bench::BenchRow& row) {
  fmt::print("#{:>11} {:>11} {:>11} {:>11} {:>9} {:>9} {:>9} | {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "rank (us)",
             "unprofiled", "profiled", "communic.", "send", "receive", "wait", "comput.", "check", "encode", "prepare",
             "update", "decode");
  for (std::size_t rank = 0; rank < row.profile.size(); ++rank) {
    const bench::RankProfile& p = row.profile[rank];
    fmt::print(
        "#{:>11} {:>11.1f} {:>11.1f} {:>11.1f} {:>9.1f} {:>9.1f} {:>9.1f} | {:>9.1f} {:>8.1f} {:>8.1f} {:>8.1f} "
        "{:>8.1f} {:>8.1f}\n",
        rank, p.unprofiled_us, p.profiled_us, p.communication_us(), p[Phase::send], p[Phase::receive], p[Phase::wait],
        p.computation_us(), p[Phase::check], p[Phase::encode], p[Phase::prepare], p[Phase::update], p[Phase::decode]);
  }
  std::fflush(stdout);
}

/// A collective; rank 0 writes.
void write_trace(Communicator& communicator, const std::vector<bench::BenchRow>& rows, const Options& options) {
  const bench::RingTrace trace = bench::gather_trace(communicator);
  if (communicator.rank() != 0) {
    return;
  }
  std::vector<bench::TraceLabel> labels;
  std::int64_t displaced = 0;
  for (const bench::BenchRow& row : rows) {
    labels.push_back({fmt::format("{}, {} B", row.algorithm, row.size_bytes), row.traced.first, row.traced.last});
  }
  for (const bench::RankTrace& rank : trace.ranks) {
    displaced = std::max(displaced, rank.displaced);
  }
  write_file_atomically(options.trace_file, bench::to_chrome_json(trace, labels));
  fmt::print("# Trace               : {}{}\n", options.trace_file,
             displaced > 0 ? fmt::format(", without the first {} events of a rank; --trace-events {} holds all",
                                         displaced, options.trace_events + static_cast<std::size_t>(displaced))
                           : std::string());
}

void print_footer(const std::vector<bench::BenchRow>& rows, std::int64_t wrong) {
  double busbw = 0;
  for (const bench::BenchRow& row : rows) {
    busbw += row.busbw_gbps / static_cast<double>(rows.size());
  }
  fmt::print("#\n# Out of bounds values: {} {}\n# Avg bus bandwidth   : {:.4f}\n", wrong, wrong == 0 ? "OK" : "FAILED",
             busbw);
}

/// "auto" is nothing: the communicator's choice.
std::vector<std::optional<Algorithm>> chosen_algorithms(const Options& options, const std::optional<RingCode>& code) {
  std::vector<std::optional<Algorithm>> algorithms;
  for (const std::string& text : options.algorithms) {
    if (text == "auto") {
      algorithms.emplace_back();
      continue;
    }
    algorithms.emplace_back(algorithm_from_name(text));
    require_code_for(*algorithms.back(), code);
  }
  if (algorithms.empty()) {
    algorithms = {Algorithm::exact, Algorithm::naive};
    if (code) {
      algorithms.emplace_back(algorithm_of(*code));
    }
  }
  return algorithms;
}

int run(const Options& options) {
  const std::vector<std::int64_t> counts = bench::parse_sizes(options.sizes);
  RingPlace place = ring_place(options.workers);
  if (!options.code_file.empty()) {
    place.options.code = read_code_for(options.code_file, place.options.size);
  }
  const std::vector<std::optional<Algorithm>> algorithms = chosen_algorithms(options, place.options.code);
  if (!place.is_launched && place.options.size > 1) {
    for (const std::string& file : {options.json_file, options.trace_file}) {
      if (!file.empty()) {
        require_writable(file);
      }
    }
    return run_as_group(place.options.size);
  }
  place.options.timeout_seconds = options.timeout_seconds.value_or(place.options.timeout_seconds);
  Communicator communicator(std::move(place.options));
  const std::optional<RingCode>& code = communicator.code();

  if (!options.trace_file.empty()) {
    communicator.reserve_trace(options.trace_events);
  }

  const bool is_reporter = communicator.rank() == 0;
  std::optional<Report> report;
  if (is_reporter) {
    report.emplace(options, communicator.size(), code);
    print_header(options, communicator.size(), code);
  }
  std::vector<bench::BenchRow> rows;
  std::int64_t wrong = 0;
  for (const std::int64_t count : counts) {
    for (const std::optional<Algorithm> algorithm : algorithms) {
      rows.push_back(bench::run_bench(communicator, algorithm, count, options.bench));
      wrong += rows.back().wrong;
      if (is_reporter) {
        print_row(rows.back());
        if (options.bench.profile) {
          print_profile(rows.back());
        }
        report->add(rows.back());
      }
    }
  }
  if (is_reporter) {
    print_footer(rows, wrong);
  }
  if (!options.trace_file.empty()) {
    write_trace(communicator, rows, options);
  }
  return wrong == 0 ? 0 : 2;
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "Time and check all-reduces on the ring");
  command->add_option("--workers", options->workers, "Start this many local workers (without a launcher)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{4096}));
  command->add_option("--code", options->code_file, "Code file for coded or piggyback, from 'cerar fit'");
  command
      ->add_option("--algorithms", options->algorithms,
                   "Any of exact,naive,coded,piggyback,doubling,auto (default: exact,naive and what the code is for)")
      ->delimiter(',');
  command->add_option("--sizes", options->sizes, "MIN:MAX[:FACTOR] or a list, in bytes with K, M, G (factor 4)")
      ->capture_default_str();
  command->add_option("--warmup", options->bench.warmup, "Untimed repetitions of each")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  command->add_option("--iterations", options->bench.iterations, "Timed repetitions of each")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  command
      ->add_option("--back-to-back", options->bench.back_to_back,
                   "All-reduces of an iteration, of zeros, without a barrier between them")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command->add_flag("!--no-checks", options->bench.checks,
                    "Only take times: results are not checked, errors not measured");
  command->add_option("--seed", options->bench.seed, "Of the inputs")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  command->add_option("--correlation", options->bench.correlation, "Of any two ranks' gradients, for rel_l2")
      ->check(CLI::Range(0.0, 0.999999))
      ->capture_default_str();
  command
      ->add_option("--slice-chunk-values", options->bench.slice_chunk_values,
                   "Values in a message; the vector is worked on in slices of c such chunks")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--slices-in-flight", options->bench.slices_in_flight, "Slices worked on at a time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command
      ->add_option("--timeout", options->timeout_seconds,
                   "Seconds without progress until the ring gives up (default: CERAR_TIMEOUT, or 30)")
      ->check(CLI::Range(0.1, 1e6));
  command->add_option("--json", options->json_file, "Also write the rows to this file");
  command->add_flag("--profile", options->bench.profile,
                    "After every timed repetition another one with timers on: where each rank's time goes. Unless "
                    "told otherwise 10 warm-ups and 100 iterations");
  command->add_option("--trace", options->trace_file,
                      "Trace one more all-reduce of each into this file, in Chrome's format (open it in Perfetto)");
  command->add_option("--trace-events", options->trace_events, "Room for the latest events of a rank, 48 bytes each")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}))
      ->capture_default_str();
  command->footer(
      "time is the median over the iterations of the slowest rank's; wire is what a worker sends in one operation; "
      "wrong\n"
      "counts values that differ from what the algorithm must give (then the exit status is 2); rel_l2 is the "
      "distance\n"
      "from the true sum of N(0,1) gradients, a code's own error; rank_div the largest distance between two ranks.\n"
      "Example: cerar bench --workers 4 --code code.json --sizes 1M,64M --json bench.json");
  command->callback([options, command] {
    options->bench.trace = !options->trace_file.empty();
    if (options->bench.profile) {
      options->bench.warmup = command->count("--warmup") > 0 ? options->bench.warmup : 10;
      options->bench.iterations = command->count("--iterations") > 0 ? options->bench.iterations : 100;
    }
    if (const int status = run(*options); status != 0) {
      throw ExitStatus{status};
    }
  });
}

}  // namespace cerar::cli
