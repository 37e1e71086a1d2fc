#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cerar {

/// A host of its own for every worker, on one machine: see netlab (experiments/netlab).
struct WorkerHosts {
  std::string master_host;  ///< address of worker 0's host
  /// Moves the calling process to worker `rank`'s host; between fork and exec, so only async-signal-safe calls.
  /// @return whether that worked
  std::function<bool(std::int64_t rank)> enter;
};

/// Starts one command as N local workers and looks after them.
struct LaunchOptions {
  std::int64_t workers = 1;                                      ///< N >= 1
  std::vector<std::string> command;                              ///< program, found through PATH, and its arguments
  std::uint16_t master_port = 0;                                 ///< on rank 0's host; 0: a free one
  std::optional<WorkerHosts> hosts;                              ///< nothing: all on this one
  std::vector<std::pair<std::string, std::string>> environment;  ///< variables to set besides, name and value
  /// Whether rank 0 writes straight to this process's output: its progress line then sees a terminal.
  bool rank_0_inherits_output = false;
  /// Leaves out what makes a process a rank of a job: RANK, WORLD_SIZE and the others, and the secret.
  bool without_ranks = false;
  /// Takes every line the workers print, without its newline. Called in this thread.
  std::function<void(std::int64_t rank, bool is_error, std::string_view line)> on_line = [](std::int64_t, bool,
                                                                                            std::string_view) {};
  /// Takes a sentence on each thing that went wrong with a worker.
  std::function<void(std::string_view sentence)> on_trouble = [](std::string_view) {};
};

/// Runs the workers with torchrun's environment (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR,
/// MASTER_PORT, TORCHELASTIC_RUN_ID) and a fresh CERAR_SECRET, each in a process group of its own, and waits until all
/// have ended. SIGINT, SIGTERM and SIGHUP are passed on. When a worker fails, the others get a few seconds to say what
/// they saw, then SIGTERM, then SIGKILL; none outlives this process, not even when it is killed.
/// @return 0, or the status of the first worker that failed (128 + signal if one ended it)
/// @throws Error if the command cannot be run
[[nodiscard]] int launch(const LaunchOptions& options);

}  // namespace cerar
