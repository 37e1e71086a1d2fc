#include "cli/commands.h"

namespace cerar::cli {

void add_compare(CLI::App& app) { app.add_subcommand("compare", ""); }

}  // namespace cerar::cli
