#include "cli/commands.h"

namespace cerar::cli {

void add_fit(CLI::App& app) { app.add_subcommand("fit", ""); }

}  // namespace cerar::cli
