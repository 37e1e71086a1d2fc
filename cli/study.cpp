#include "cli/commands.h"
#include "cli/study_commands.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace cerar::cli {

void add_study(CLI::App& app) {
  CLI::App* study =
      app.add_subcommand("study", "Verify a statement of the theory numerically: tables, CSV and pictures");
  study->footer(
      "Example: cerar study conditioning --workers 8 --chunks 20 -o conditioning\n"
      "docs/theory.md says which study verifies which statement; every study has --help with an example of its own.");
  add_study_conditioning(*study);
  add_study_cost(*study);
  add_study_exponents(*study);
  add_study_frontier(*study);
  add_study_lower_bound(*study);
  add_study_rates(*study);
  add_study_ring(*study);
  add_study_vandermonde(*study);
  // What is no study's name is an extra argument to CLI11; said here, it gets a sentence of its own.
  study->require_subcommand(0, 1);
  study->allow_extras();
  study->callback([study] {
    if (!study->get_subcommands().empty()) {
      return;
    }
    std::vector<std::string> names;
    for (const CLI::App* one : study->get_subcommands({})) {
      names.push_back(one->get_name());
    }
    const std::vector<std::string> rest = study->remaining();
    throw std::invalid_argument(fmt::format(
        "{}; the studies are {}", rest.empty() ? "which study?" : fmt::format("no study is called '{}'", rest.front()),
        fmt::join(names, ", ")));
  });
}

}  // namespace cerar::cli
