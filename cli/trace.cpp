#include "cli/commands.h"

namespace cerar::cli {

void add_trace(CLI::App& app) { app.add_subcommand("trace", ""); }

}  // namespace cerar::cli
