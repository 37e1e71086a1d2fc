#include "cli/commands.h"
#include "cli/study_commands.h"
#include "cli/study_console.h"
#include "experiments/study/exponents.h"

#include <fmt/core.h>

#include <memory>
#include <string>

namespace cerar::cli {
namespace {

struct Arguments {
  StudyArguments study;
  ExponentOptions options;
  std::string eta = "1e-3:1e-16";
  int points = 14;
};

void run(Arguments& arguments) {
  ExponentOptions& options = arguments.options;
  options.eta = parse_grid("--eta", arguments.eta, arguments.points);
  if (options.chunks.empty()) {
    for (const std::int64_t blocks : {2, 3, 4}) {
      options.chunks.push_back(blocks * options.workers);
    }
  }
  const StudyConsole console;
  const auto study = study_exponents(options, arguments.study.folder, console.hooks(arguments.study));
  if (!study) {
    end_interrupted(arguments.study);
  }
  write_exponents(*study, arguments.study.folder);
  fmt::print("{}\nresults: {}\n", exponents_table(*study), arguments.study.folder);
  if (!study->holds) {
    throw ExitStatus{1};
  }
}

}  // namespace

void add_study_exponents(CLI::App& study) {
  auto arguments = std::make_shared<Arguments>();
  ExponentOptions& options = arguments->options;
  CLI::App* command = study.add_subcommand(
      "exponents", "How the error of the best cyclic and overlapped codes falls with the wire's precision");
  command->add_option("--workers", options.workers, "N, workers on the ring")->capture_default_str();
  command->add_option("--chunks", options.chunks, "Numbers of chunks, separated by commas; without it 2 N, 3 N and 4 N")
      ->delimiter(',');
  command->add_option("--eta", arguments->eta, "Range or list of the relative rounding error of one operation")
      ->capture_default_str();
  command->add_option("--points", arguments->points, "Values of eta in a range, equidistant in the logarithm")
      ->check(CLI::Range(3, 10'000))
      ->capture_default_str();
  add_study_options(*command, arguments->study);
  command->footer(
      "Example: cerar study exponents --workers 4 -o exponents\n"
      "Writes summary.json, exponents.csv and a picture.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
