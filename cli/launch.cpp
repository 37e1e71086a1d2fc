#include "cli/commands.h"
#include "cli/worker_output.h"
#include "collective/launcher.h"

#include <memory>

namespace cerar::cli {

void add_launch(CLI::App& app) {
  auto options = std::make_shared<LaunchOptions>();
  CLI::App* command = app.add_subcommand("launch", "Start a program as local workers of one job");
  command->add_option("-n,--workers", options->workers, "How many workers to start")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{4096}));
  command->add_option("--port", options->master_port, "Port of the rendezvous on 127.0.0.1 (default: a free one)");
  command->add_option("command", options->command, "Program and arguments, after --")->required();
  command->footer(
      "Each worker gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and a job secret; "
      "its\n"
      "output is prefixed with its rank. If one fails, all are ended and its status is returned.\n"
      "Example: cerar launch -n 4 -- ./my_training --epochs 3");
  command->callback([options] {
    options->on_line = print_line;
    options->on_trouble = print_trouble;
    throw ExitStatus{launch(*options)};
  });
}

}  // namespace cerar::cli
