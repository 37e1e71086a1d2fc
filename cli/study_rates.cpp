#include "cli/commands.h"
#include "cli/study_commands.h"
#include "cli/study_console.h"
#include "coding/wire.h"
#include "experiments/study/rates.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <memory>

namespace cerar::cli {
namespace {

struct Arguments {
  StudyArguments study;
  RatesOptions options;
};

void run(const Arguments& arguments) {
  const StudyConsole console;
  const auto study = study_rates(arguments.options, arguments.study.folder, console.hooks(arguments.study));
  if (!study) {
    end_interrupted(arguments.study);
  }
  write_rates(*study, arguments.study.folder);
  fmt::print("{}\nresults: {}\n", rates_table(*study), arguments.study.folder);
  if (!study->holds) {
    throw ExitStatus{1};
  }
}

}  // namespace

void add_study_rates(CLI::App& study) {
  auto arguments = std::make_shared<Arguments>();
  RatesOptions& options = arguments->options;
  CLI::App* command = study.add_subcommand("rates", "The best code for every number of chunks: error against rate");
  command->add_option("--workers", options.workers, "N, workers on the ring")->capture_default_str();
  command->add_option("--chunks-to", options.most_chunks, "The largest number of chunks; without it 4 N");
  command->add_option("--wire", options.wire, fmt::format("One of {}", fmt::join(wire_names(), ", ")))
      ->capture_default_str();
  command->add_option("--construction", options.construction, "As cerar fit has it")->capture_default_str();
  add_study_options(*command, arguments->study);
  command->footer(
      "Example: cerar study rates --workers 8 --wire f32 -o rates\n"
      "Writes summary.json, rates.csv, a picture, and the codes as codes/c_<chunks>.json.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
