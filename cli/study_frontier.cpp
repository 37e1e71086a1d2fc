#include "cli/commands.h"
#include "cli/study_commands.h"
#include "cli/study_console.h"
#include "experiments/study/frontier.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>

namespace cerar::cli {
namespace {

struct Arguments {
  StudyArguments study;
  FrontierOptions options;
  std::string kappa = "1e2:1e7";
  int points = 11;
  bool own_exact = false;
};

void run(Arguments& arguments) {
  FrontierOptions& options = arguments.options;
  options.kappa = parse_grid("--kappa", arguments.kappa, arguments.points);
  std::reverse(options.kappa.begin(), options.kappa.end());
  for (double& bound : options.kappa) {
    bound = std::stod(fmt::format("{:.6g}", bound));  // a decade's bound is then that decade's, to the last bit
  }
  options.own_block = arguments.own_exact ? OwnBlock::exact : OwnBlock::included;
  const StudyConsole console;
  const auto study = study_frontier(options, arguments.study.folder, console.hooks(arguments.study));
  if (!study) {
    end_interrupted(arguments.study);
  }
  write_frontier(*study, arguments.study.folder);
  fmt::print("{}\nresults: {}\n", frontier_table(*study), arguments.study.folder);
  if (!study->holds) {
    throw ExitStatus{1};
  }
}

}  // namespace

void add_study_frontier(CLI::App& study) {
  auto arguments = std::make_shared<Arguments>();
  FrontierOptions& options = arguments->options;
  CLI::App* command = study.add_subcommand(
      "frontier", "The least error under a bound of the decoder's condition number, family by family");
  command->add_option("--workers", options.shape.workers, "N, workers on the ring")->required();
  command->add_option("--chunks", options.shape.chunks, "c > N, chunks the gradient is cut in")->required();
  command->add_option("--kappa", arguments->kappa, "Range or list of bounds of kappa_2(M_i)")->capture_default_str();
  command->add_option("--points", arguments->points, "Bounds in a range, equidistant in the logarithm")
      ->check(CLI::Range(3, 10'000))
      ->capture_default_str();
  command->add_option("--seeds", options.seeds, "mpc: random (B, H), of which the best counts at every bound")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_flag("--own-exact", arguments->own_exact,
                    "Add the own gradient as it is, instead of the paper's Phi, in which it is decoded too");
  add_study_options(*command, arguments->study);
  command->footer(
      "Example: cerar study frontier --workers 4 --chunks 12 --kappa 1e2:1e7 -o frontier\n"
      "Without noise, from the last c vectors. Writes summary.json, frontier.csv and a picture.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
