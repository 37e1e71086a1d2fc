#include "cli/commands.h"
#include "cli/study_commands.h"
#include "experiments/study/cost_fit.h"

#include <fmt/core.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cerar::cli {
namespace {

void run(const std::vector<std::string>& files) {
  std::vector<bench::BenchReport> reports;
  for (const std::string& file : files) {
    reports.push_back(bench::read_report(file));
  }
  const std::vector<CostFit> fits = fit_costs(reports);
  if (fits.empty()) {
    throw std::invalid_argument("the reports hold no algorithm at two sizes; measure more, e.g. --sizes 4:64M");
  }
  fmt::print("{}", cost_table(fits));
}

}  // namespace

void add_study_cost(CLI::App& study) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* command =
      study.add_subcommand("cost", "Fit latency a round and time a byte to what 'cerar bench' has measured");
  command->add_option("reports", *files, "Of 'cerar bench --json'; of any numbers of workers")->required();
  command->footer(
      "Example: cerar bench --workers 4 --sizes 4:64M --json bench.json && cerar study cost bench.json\n"
      "T = alpha L + beta b, L rounds and b bytes sent; docs/simulation.md says where this deviates and why.");
  command->callback([files] { run(*files); });
}

}  // namespace cerar::cli
