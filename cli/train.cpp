#include "cli/commands.h"

namespace cerar::cli {

void add_train(CLI::App& app) { app.add_subcommand("train", ""); }

}  // namespace cerar::cli
