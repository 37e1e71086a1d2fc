#include "experiments/compare.h"

#include "cli/commands.h"
#include "experiments/compare_plot.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

namespace cerar::cli {
namespace {

constexpr std::int64_t rows_without_all = 12;

struct Arguments {
  std::vector<std::string> files;
  std::string plot_file;
  bool all = false;
};

void run(const Arguments& arguments) {
  const std::vector<NamedRun> runs = read_runs(arguments.files);
  fmt::print("{}\n{}", step_table(runs, arguments.all ? 0 : rows_without_all), comparison_table(runs));
  if (!arguments.plot_file.empty()) {
    plot_comparison(runs, arguments.plot_file);
    fmt::print("\npicture: {}\n", arguments.plot_file);
  }
}

}  // namespace

void add_compare(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("compare", "Set training runs side by side, as tables and as a picture");
  command->add_option("files", arguments->files, "What cerar train --json wrote; ratios refer to the first")
      ->required();
  command->add_option("--plot", arguments->plot_file,
                      "Draw loss, gradient error and bytes into this PNG (needs gnuplot)");
  command->add_flag("--all", arguments->all, "Show every reported step, not just 12 of them");
  command->footer("Example: cerar compare exact.jsonl coded.jsonl --plot comparison.png");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
