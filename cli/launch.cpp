#include "cli/launch.h"

#include "cli/commands.h"
#include "coding/code_file.h"
#include "collective/launcher.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace cerar::cli {

namespace {

void print_line(std::int64_t rank, bool is_error, std::string_view line) {
  std::FILE* stream = is_error ? stderr : stdout;
  fmt::print(stream, "[{}] {}\n", rank, line);
  std::fflush(stream);
}

void print_trouble(std::string_view sentence) { fmt::print(stderr, "cerar launch: {}\n", sentence); }

/// This process's arguments, as the kernel has them.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) {
    arguments.push_back(argument);
  }
  return arguments;
}

}  // namespace

RingPlace ring_place(std::optional<std::int64_t> workers) {
  const std::optional<CommunicatorOptions> environment = options_from_environment();
  if (!environment) {
    RingPlace alone;
    alone.options.size = workers.value_or(1);
    return alone;
  }
  if (workers && *workers != environment->size) {
    throw Error(fmt::format("--workers is {} but the environment's WORLD_SIZE is {}; leave out --workers", *workers,
                            environment->size));
  }
  return {*environment, true};
}

RingCode read_code_for(const std::string& file, std::int64_t workers) {
  RingCode code = read_code_file(file);
  if (shape_of(code).workers != workers) {
    throw Error(fmt::format("{} is a code for {} workers and this job has {}; fit one with 'cerar fit --workers {}'",
                            file, shape_of(code).workers, workers, workers));
  }
  return code;
}

void require_code_for(Algorithm algorithm, const std::optional<RingCode>& code) {
  const bool needs_code = algorithm == Algorithm::coded || algorithm == Algorithm::piggyback;
  if (needs_code && (!code || algorithm_of(*code) != algorithm)) {
    throw Error(
        fmt::format("{} needs a code of its kind and was given {}: make one with 'cerar fit{} -o code.json' and "
                    "give --code code.json",
                    name(algorithm), code ? "another" : "none",
                    algorithm == Algorithm::piggyback ? " --construction piggyback" : ""));
  }
}

int run_as_group(std::int64_t workers) {
  LaunchOptions options;
  options.workers = workers;
  options.command = own_arguments();
  options.command[0] = std::filesystem::read_symlink("/proc/self/exe");
  options.rank_0_inherits_output = true;
  options.on_line = print_line;
  options.on_trouble = print_trouble;
  return launch(options);
}

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
