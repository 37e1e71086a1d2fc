#include "cli/commands.h"

namespace cerar::cli {

void add_bench(CLI::App& app) { app.add_subcommand("bench", ""); }

}  // namespace cerar::cli
