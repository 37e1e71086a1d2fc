#include "cli/ring_place.h"

#include "cli/worker_output.h"
#include "coding/code_file.h"
#include "collective/launcher.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cerar::cli {

namespace {

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
  require_ring_for_wire(code);
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

}  // namespace cerar::cli
