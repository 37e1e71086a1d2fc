#include "optimize/fit.h"

#include "cli/code_report.h"
#include "cli/commands.h"
#include "cli/piggyback_report.h"
#include "coding/atomic_file.h"
#include "coding/code_file.h"
#include "optimize/family.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace cerar::cli {
namespace {

constexpr const char* piggyback_construction = "piggyback";

struct FitArguments {
  FitProblem problem;
  FitOptions options;
  std::string decoder = "own-exact";
  std::string output;
  bool json = false;
};

/// Prints what was found, and where it is.
void print(const RingCode& code, nlohmann::ordered_json found, const std::string& remark,
           const FitArguments& arguments) {
  std::visit(
      [&](const auto& one) {
        const auto report = make_report(one);
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

void run(FitArguments& arguments) {
  if (arguments.decoder != "own-exact" && arguments.decoder != "paper") {
    throw std::invalid_argument(
        fmt::format("decoder \"{}\" is unknown; the known ones are own-exact and paper", arguments.decoder));
  }
  FitProblem& problem = arguments.problem;
  problem.decoder = arguments.decoder == "paper" ? Decoder::paper : Decoder::own_exact;
  if (!arguments.output.empty()) {
    require_writable(arguments.output);
  }
  RingCode code;
  nlohmann::ordered_json found = {{"seconds", 0.0}};
  std::string remark = "d in closed form";
  if (problem.construction == piggyback_construction) {
    code = make_piggyback_code(
        problem.shape, {.wire = problem.wire, .eta = wire_eta(problem.wire), .correlation = problem.correlation});
  } else {
    const FitResult result = fit(problem, arguments.options);
    code = result.code;
    found = {{"evaluations", result.evaluations}, {"seconds", result.seconds}};
    remark = fmt::format("{} codes tried in {:.2f} s", result.evaluations, result.seconds);
  }
  if (!arguments.output.empty()) {
    write_code_file(code, arguments.output);
  }
  found["file"] = arguments.output.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(arguments.output);
  print(code, std::move(found), remark, arguments);
}

}  // namespace

void add_fit(CLI::App& app) {
  CLI::App* command = app.add_subcommand("fit", "Find a code for a ring of workers and write it to a file");
  auto arguments = std::make_shared<FitArguments>();
  FitProblem& problem = arguments->problem;
  command->add_option("--workers", problem.shape.workers, "N, workers on the ring")->required();
  command->add_option("--chunks", problem.shape.chunks, "c >= N, chunks the gradient is cut in; 3 N is a good choice")
      ->required();
  command
      ->add_option("--construction", problem.construction,
                   fmt::format("one of {} and {}", fmt::join(construction_names(), ", "), piggyback_construction))
      ->capture_default_str();
  command
      ->add_option("--wire", problem.wire,
                   fmt::format("what the words on the wire are: {}", fmt::join(wire_names(), ", ")))
      ->capture_default_str();
  command->add_option("--correlation", problem.correlation, "rho in [0, 1) between the workers' gradients")
      ->capture_default_str();
  command->add_option("--decoder", arguments->decoder, "own-exact or paper")->capture_default_str();
  command->add_option(
      "--first-kept-round", problem.first_kept_round,
      "f: vectors received from this round on are kept; 1 is the full window, N - 1 the paper's c vectors");
  command->add_option("--seed", arguments->options.seed, "of the random matrices of mpc")->capture_default_str();
  command->add_option("-o,--output", arguments->output, "code file to write; without it the code is only reported");
  command->add_flag("--json", arguments->json, "print one JSON object instead of the table");
  command->footer(
      "Example: cerar fit --workers 4 --chunks 12 -o code.json\n"
      "         cerar fit --construction piggyback --workers 8 --chunks 64 -o piggyback.json\n"
      "Finds the construction's free parameters for the least predicted error on that wire, and the best decoder with "
      "them.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
