#include "optimize/fit.h"

#include "cli/code_report.h"
#include "cli/commands.h"
#include "cli/fit_console.h"
#include "cli/piggyback_report.h"
#include "cli/report_lines.h"
#include "coding/atomic_file.h"
#include "coding/code_file.h"
#include "coding/covariance.h"
#include "coding/piggyback_integer.h"
#include "coding/wire.h"
#include "experiments/study/fit_report.h"
#include "optimize/catalogue.h"
#include "optimize/family.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cerar::cli {
namespace {

constexpr const char* piggyback_construction = "piggyback";

struct FitArguments {
  FitProblem problem;
  FitOptions options;
  std::optional<std::int64_t> chunks;
  std::int64_t values =
      1'000'000;  ///< of the vectors to sum, and the links' speed: they choose c where it is not given
  LinkSpeed link;
  std::string decoder = "own-exact";
  std::string noise_model;
  std::string covariance_file;
  bool closed_form = false;
  bool own_included = false;
  std::string output;
  std::string report;
  bool json = false;
  std::vector<const CLI::Option*> fitted_only;     ///< options that say nothing about a piggyback code
  std::vector<const CLI::Option*> piggyback_only;  ///< options that say nothing about any other
};

/// @throws std::invalid_argument naming the first of the options that was given
void refuse(const std::vector<const CLI::Option*>& options, const std::string& construction) {
  for (const CLI::Option* option : options) {
    if (option->count() > 0) {
      throw std::invalid_argument(fmt::format("{} means nothing for a code of construction {}; leave it out",
                                              option->get_name(), construction));
    }
  }
}

/// By default starts are tried on every processor: the result does not depend on how many there are.
int all_processors() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

/// c, given or, for the piggyback ring, chosen.
std::int64_t chunks_of(const FitArguments& arguments) {
  if (arguments.chunks) {
    return *arguments.chunks;
  }
  if (arguments.problem.construction != piggyback_construction) {
    throw std::invalid_argument(
        "--chunks is missing: in how many chunks is the gradient to be cut? 3 N is a good choice");
  }
  return piggyback_chunks(arguments.problem.shape.workers, arguments.values, arguments.link);
}

/// eta of the wire, for the error law of the construction.
double eta_of(const FitProblem& problem) {
  if (problem.construction != piggyback_construction) {
    return wire_eta(problem.wire, problem.shape.workers);
  }
  if (problem.wire == kIntegerWire) {
    return kIntegerEta;
  }
  if (problem.wire != "f32") {
    throw std::invalid_argument(
        fmt::format("wire \"{}\" is unknown; the piggyback ring's are f32 and {}", problem.wire, kIntegerWire));
  }
  return wire_eta(problem.wire, problem.shape.workers);
}

std::optional<NoiseEntry> noise_entry_of(const FitArguments& arguments) {
  if (arguments.noise_model.empty()) {
    return std::nullopt;
  }
  const std::pair<const char*, NoiseEntry> models[] = {
      {"operations", NoiseEntry::operations}, {"hops", NoiseEntry::hops}, {"white", NoiseEntry::kept}};
  for (const auto& [name, entry] : models) {
    if (arguments.noise_model == name) {
      return entry;
    }
  }
  throw std::invalid_argument(fmt::format(
      "noise model \"{}\" is unknown; the known ones are operations, hops and white", arguments.noise_model));
}

/// Descents that were begun: a fit that is stopped does not get to all.
std::ptrdiff_t begun(const FitResult& result) {
  return std::count_if(result.starts.begin(), result.starts.end(), [](const FitStart& start) { return start.begun(); });
}

/// One line on how the code was found.
std::string remark_on(const FitResult& result) {
  const FitStart& best = result.starts[result.best_start];
  std::string remark = fmt::format("{} codes tried in {:.2f} s", result.evaluations, result.seconds);
  if (best.evaluations > 0) {
    remark += fmt::format("; best of {} descents, from {}: {} -> {}", begun(result), best.from,
                          percent(best.closed_form_error), percent(best.error));
  }
  return remark;
}

/// The catalogue's code for that ring and wire, if it is better by more than 1 % and what was asked for allows it.
const CatalogueEntry* better_in_catalogue(const Code& code, const FitArguments& arguments) {
  const FitProblem& problem = arguments.problem;
  const bool comparable = problem.decoder == Decoder::own_exact && problem.own_block == OwnBlock::exact &&
                          problem.correlation == 0 && problem.covariance.size() == 0 && !problem.eta &&
                          !problem.noise_entry && !problem.first_kept_round && !problem.bounds.any_kappa() &&
                          !problem.bounds.any_decoder();
  const CatalogueEntry* entry = comparable ? find_in_catalogue(problem.shape, problem.wire) : nullptr;
  const bool better = entry != nullptr && entry->simulated_relative_error < 0.99 * *code.simulated_relative_error;
  return better ? entry : nullptr;
}

nlohmann::ordered_json to_json(const CatalogueEntry& entry) {
  return {{"file", entry.file()},
          {"construction", entry.construction},
          {"predicted_relative_error", entry.predicted_relative_error},
          {"simulated_relative_error", entry.simulated_relative_error},
          {"kappa_max", entry.kappa_max},
          {"hash", entry.hash}};
}

/// Says so if the simulation contradicts the prediction, and throws unless that was made for rounding of the user's
/// own, which need not be the wire's. What codes without error are off by is rounding that the model counts roughly.
void require_agreement(const Code& code, const FitArguments& arguments) {
  const double predicted = code.predicted_relative_error;
  const double simulated = *code.simulated_relative_error;
  if (std::max(predicted, simulated) < 1e-6 || std::abs(simulated - predicted) <= 0.2 * predicted) {
    return;
  }
  const std::string sentence =
      fmt::format("the simulated error, {}, and the predicted one, {}, differ by more than 20 %", percent(simulated),
                  percent(predicted));
  if (arguments.problem.eta || arguments.problem.noise_entry) {
    fmt::print(stderr, "cerar: {}: the prediction is for rounding as --eta and --noise-model have it\n", sentence);
    return;
  }
  throw std::runtime_error(sentence + ": do not rely on the prediction" +
                           (arguments.output.empty() ? "" : fmt::format("; {} states both", arguments.output)));
}

/// Prints what was found, and where it is.
void print(const RingCode& code, nlohmann::ordered_json found, const std::string& remark,
           const FitArguments& arguments) {
  std::visit(
      [&](const auto& one) {
        auto report = make_report(one);
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Code>) {
          report.phi = found.value("phi", report.phi);
          report.kappa_max = found.value("kappa_max", report.kappa_max);
        }
        if (arguments.json) {
          nlohmann::ordered_json object = report_json(one, report);
          object.update(found);
          fmt::print("{}\n", object.dump(2));
          return;
        }
        fmt::print("{}  {:<26}{}\n  {:<26}{}\n", report_text(one, report), "fit", remark, "file",
                   arguments.output.empty() ? "none (give -o FILE to keep the code)" : arguments.output);
      },
      code);
}

/// Writes the code, if a file was asked for, and prints it.
void finish(const RingCode& code, nlohmann::ordered_json found, const std::string& remark,
            const FitArguments& arguments) {
  if (!arguments.output.empty()) {
    write_code_file(code, arguments.output);
  }
  found["file"] = arguments.output.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(arguments.output);
  print(code, std::move(found), remark, arguments);
}

void run_piggyback(const FitArguments& arguments) {
  const FitProblem& problem = arguments.problem;
  const double eta = problem.eta.value_or(eta_of(problem));
  finish(make_piggyback_code(problem.shape, {.wire = problem.wire, .eta = eta, .correlation = problem.correlation}),
         {{"seconds", 0.0}}, "d in closed form", arguments);
}

void run_fit(FitArguments& arguments) {
  FitConsole console;
  arguments.options.progress = [&](const FitProgress& progress) { return console.progress(progress); };
  const FitResult result = fit(arguments.problem, arguments.options);
  console.clear_line();
  const CatalogueEntry* better = better_in_catalogue(result.code, arguments);
  const nlohmann::ordered_json found = {
      {"evaluations", result.evaluations},
      {"seconds", result.seconds},
      {"starts", begun(result)},
      {"best_start", result.best_start},
      {"interrupted", result.interrupted},
      {"phi", result.phi},  // with the own block included, if that was asked for
      {"kappa_max", result.kappa_max},
      {"kappa_window", result.kappa_window},
      {"better_in_catalogue", better == nullptr ? nlohmann::ordered_json(nullptr) : to_json(*better)}};
  std::string remark = remark_on(result);
  const int signal = result.interrupted ? StopRequest::signal() : 0;
  if (result.interrupted) {
    remark += fmt::format("; {}, the best so far was kept", signal != 0 ? "interrupted" : "ended by the time limit");
  }
  if (better != nullptr) {
    remark += '\n' + report_line("better in the catalogue", percent(better->simulated_relative_error),
                                 fmt::format("{}, {} code", better->file(), better->construction));
    remark.pop_back();
  }
  finish(result.code, found, remark, arguments);
  if (!arguments.report.empty()) {
    write_fit_report(result, arguments.report);
  }
  require_agreement(result.code, arguments);
  if (signal != 0) {
    throw ExitStatus{128 + signal};
  }
}

void run(FitArguments& arguments) {
  if (arguments.decoder != "own-exact" && arguments.decoder != "paper") {
    throw std::invalid_argument(
        fmt::format("decoder \"{}\" is unknown; the known ones are own-exact and paper", arguments.decoder));
  }
  FitProblem& problem = arguments.problem;
  refuse(problem.construction == piggyback_construction ? arguments.fitted_only : arguments.piggyback_only,
         problem.construction);
  problem.decoder = arguments.decoder == "paper" ? Decoder::paper : Decoder::own_exact;
  problem.own_block = arguments.own_included ? OwnBlock::included : OwnBlock::exact;
  problem.noise_entry = noise_entry_of(arguments);
  arguments.options.descend = !arguments.closed_form;
  problem.shape.chunks = chunks_of(arguments);
  if (!arguments.covariance_file.empty()) {
    validate(problem.shape);
    problem.covariance = read_covariance(arguments.covariance_file, problem.shape.workers);
  }
  if (!arguments.output.empty()) {
    require_writable(arguments.output);
  }
  if (!arguments.report.empty()) {
    require_report_folder(arguments.report);
  }
  if (problem.construction == piggyback_construction) {
    run_piggyback(arguments);
  } else {
    run_fit(arguments);
  }
}

}  // namespace

void add_fit(CLI::App& app) {
  CLI::App* command = app.add_subcommand("fit", "Find a code for a ring of workers and write it to a file");
  auto arguments = std::make_shared<FitArguments>();
  FitProblem& problem = arguments->problem;
  command->add_option("--workers", problem.shape.workers, "N, workers on the ring")->required();
  command->add_option(
      "--chunks", arguments->chunks,
      "c >= N, chunks the gradient is cut in; 3 N is a good choice. piggyback: a multiple of N; without it, "
      "what suits --values, --latency and --bandwidth");
  command
      ->add_option("--construction", problem.construction,
                   fmt::format("one of {} and {}", fmt::join(construction_names(), ", "), piggyback_construction))
      ->capture_default_str();
  command
      ->add_option("--wire", problem.wire,
                   fmt::format("what the words on the wire are: {}; f32 or {} for piggyback",
                               fmt::join(wire_names(), ", "), kIntegerWire))
      ->capture_default_str();
  CLI::Option* correlation =
      command->add_option("--correlation", problem.correlation, "rho in [0, 1) between the workers' gradients")
          ->capture_default_str();
  command
      ->add_option("--covariance", arguments->covariance_file,
                   "instead of it the covariance that was measured: N lines of N numbers, as cerar train "
                   "--dump-covariance writes them")
      ->excludes(correlation);
  command->add_option("--decoder", arguments->decoder, "own-exact or paper")->capture_default_str();
  command->add_option(
      "--first-kept-round", problem.first_kept_round,
      "f: vectors received from this round on are kept; 1 is the full window, N - 1 the paper's c vectors");
  command->add_option("--values", arguments->values, "piggyback without --chunks: values in the vectors to be summed")
      ->capture_default_str();
  command
      ->add_option("--latency", arguments->link.latency_seconds, "piggyback without --chunks: of a message, in seconds")
      ->capture_default_str();
  command
      ->add_option("--bandwidth", arguments->link.bytes_per_second,
                   "piggyback without --chunks: of a link, in bytes a second")
      ->capture_default_str();
  FitOptions& options = arguments->options;
  options.threads = all_processors();
  command->add_flag("--closed-form", arguments->closed_form,
                    "keep U in closed form: scan its parameters, without the descent that follows");
  command->add_option("--starts", options.starts,
                      "descents: one from every closed form, then from random points round them; without it as many as "
                      "take seconds. mpc: one from each of --draws");
  command->add_option("--threads", options.threads, "descents at a time; the result does not depend on it")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--time-limit", options.time_limit, "seconds after which the best so far is taken; 0: none")
      ->capture_default_str();
  command->add_flag("--free", options.free, "descend in every worker's U on its own, not in one that all share");
  command->add_option("--draws", options.draws, "random matrices tried by mpc")->capture_default_str();
  command->add_option("--eta", problem.eta, "relative rounding error of one operation, instead of the wire's");
  command->add_option("--noise-model", arguments->noise_model,
                      "where rounding enters: operations (all of them), hops (each transmission once) or white (each "
                      "kept vector once); without it the wire's own");
  command->add_flag("--own-included", arguments->own_included,
                    "minimise the paper's Phi, in which the own contribution is decoded too");
  command->add_option("--kappa-max", problem.bounds.stacked_kappa, "bound of every kappa_2(M_i)")
      ->check(CLI::PositiveNumber);
  command->add_option("--window-kappa-max", problem.bounds.window_kappa, "bound of every kappa_2(U_i)")
      ->check(CLI::PositiveNumber);
  command->add_option("--decoder-max", problem.bounds.largest_entry, "bound of every |entry| of R, rows of U <= 2")
      ->check(CLI::PositiveNumber);
  command->add_option("--decoder-norm", problem.bounds.frobenius, "bound of every ||R_i||_F, rows of U <= 2")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", options.seed, "of the random starts, and of the random matrices of mpc")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "code file to write; without it the code is only reported");
  command->add_option("--report", arguments->report,
                      "folder for the evidence: convergence, singular values and errors by worker, chunk and block, as "
                      "tables and pictures, and the code");
  command->add_flag("--json", arguments->json, "print one JSON object instead of the table");
  for (const char* name : {"--covariance", "--decoder", "--first-kept-round", "--closed-form", "--starts",
                           "--time-limit", "--free", "--draws", "--noise-model", "--own-included", "--kappa-max",
                           "--window-kappa-max", "--decoder-max", "--decoder-norm", "--report"}) {
    arguments->fitted_only.push_back(command->get_option(name));
  }
  for (const char* name : {"--values", "--latency", "--bandwidth"}) {
    arguments->piggyback_only.push_back(command->get_option(name));
  }
  command->footer(
      "Example: cerar fit --workers 4 --chunks 12 -o code.json\n"
      "         cerar fit --construction piggyback --workers 8 --chunks 64 -o piggyback.json\n"
      "Finds the U of the least predicted error on that wire, with the best decoder for it: the construction's closed "
      "form is scanned, then left along the gradient. Ctrl-C keeps the best so far.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
