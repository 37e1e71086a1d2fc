#include "cli/commands.h"
#include "cli/study_commands.h"

namespace cerar::cli {

void add_study(CLI::App& app) {
  CLI::App* study =
      app.add_subcommand("study", "Verify a statement of the theory numerically: tables, CSV and pictures");
  study->require_subcommand(1);
  study->footer(
      "Example: cerar study conditioning --workers 8 --chunks 20 -o conditioning\n"
      "docs/theory.md says which study verifies which statement; every study has --help with an example of its own.");
  add_study_conditioning(*study);
  add_study_exponents(*study);
  add_study_lower_bound(*study);
  add_study_vandermonde(*study);
}

}  // namespace cerar::cli
