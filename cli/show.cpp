#include "cli/commands.h"

namespace cerar::cli {

void add_show(CLI::App& app) { app.add_subcommand("show", ""); }

}  // namespace cerar::cli
