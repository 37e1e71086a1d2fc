#include "cli/commands.h"
#include "cli/study_commands.h"
#include "cli/study_console.h"
#include "experiments/study/vandermonde.h"

#include <fmt/core.h>

#include <memory>
#include <string>

namespace cerar::cli {
namespace {

struct Arguments {
  StudyArguments study;
  RingShape shape;
  std::string nodes = "equispaced";
  std::string tau = "1e-1:1e-6";
  int points = 11;
};

void run(const Arguments& arguments) {
  const VandermondeOptions options{arguments.shape, vandermonde_nodes_named(arguments.nodes, arguments.shape.chunks),
                                   parse_grid("--tau", arguments.tau, arguments.points)};
  const StudyConsole console;
  const auto study = study_vandermonde(options, arguments.study.folder, console.hooks(arguments.study));
  if (!study) {
    end_interrupted(arguments.study);
  }
  write_vandermonde(*study, arguments.study.folder);
  fmt::print("{}\nresults: {}\n", vandermonde_table(*study), arguments.study.folder);
  if (!study->holds) {
    throw ExitStatus{1};
  }
}

}  // namespace

void add_study_vandermonde(CLI::App& study) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = study.add_subcommand(
      "vandermonde", "Phi, its leading term and kappa of the Vandermonde construction against tau");
  command->add_option("--workers", arguments->shape.workers, "N, workers on the ring")->required();
  command->add_option("--chunks", arguments->shape.chunks, "c >= N; the map goes from N to c")->required();
  command->add_option("--nodes", arguments->nodes, "xi: equispaced, chebyshev, or a file of c numbers, one a line")
      ->capture_default_str();
  command->add_option("--tau", arguments->tau, "Range or list; nodes are 1 + tau xi")->capture_default_str();
  command->add_option("--points", arguments->points, "Values of tau in a range, equidistant in the logarithm")
      ->check(CLI::Range(3, 10'000))
      ->capture_default_str();
  add_study_options(*command, arguments->study);
  command->footer(
      "Example: cerar study vandermonde --workers 4 --chunks 12 -o vandermonde\n"
      "Writes summary.json, phi.csv, map.csv and two pictures.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
