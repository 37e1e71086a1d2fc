#include "cli/commands.h"

namespace cerar::cli {

void add_launch(CLI::App& app) { app.add_subcommand("launch", ""); }

}  // namespace cerar::cli
