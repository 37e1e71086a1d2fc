#include "cli/commands.h"
#include "cli/study_commands.h"
#include "cli/study_console.h"
#include "experiments/study/lower_bound.h"

#include <fmt/core.h>

#include <memory>

namespace cerar::cli {
namespace {

struct Arguments {
  StudyArguments study;
  LowerBoundOptions options;
};

void run(const Arguments& arguments) {
  const StudyConsole console;
  const auto study = study_lower_bound(arguments.options, arguments.study.folder, console.hooks(arguments.study));
  if (!study) {
    end_interrupted(arguments.study);
  }
  write_lower_bound(*study, arguments.study.folder);
  fmt::print("{}\nresults: {}\n", lower_bound_table(*study), arguments.study.folder);
  if (!study->holds) {
    throw ExitStatus{1};
  }
}

}  // namespace

void add_study_lower_bound(CLI::App& study) {
  auto arguments = std::make_shared<Arguments>();
  LowerBoundOptions& options = arguments->options;
  CLI::App* command =
      study.add_subcommand("lower-bound", "What no linear protocol can do, beside the best protocols known here");
  command->add_option("--workers", options.shape.workers, "N, workers on the ring")->required();
  command->add_option("--chunks", options.shape.chunks, "c >= N; a round moves d / c values over every link")
      ->required();
  command->add_option("--seed", options.seed, "Of the random protocols and starts")->capture_default_str();
  command->add_option("--protocols", options.protocols, "Random protocols for which two gradients are exhibited")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--starts", options.starts, "Random starts of the optimisation")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  add_study_options(*command, arguments->study);
  command->footer(
      "Example: cerar study lower-bound --workers 4 --chunks 8 -o lower-bound\n"
      "Writes summary.json, confusions.csv, floor.csv and a picture.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
