#pragma once

#include <CLI/CLI.hpp>

namespace cerar::cli {

/// Each function adds one subcommand to the program: its options, its help with an example, and what it runs.
/// A subcommand reports failure by an exception whose sentence main prints, or by throwing `ExitStatus`.
void add_bench(CLI::App& app);
void add_compare(CLI::App& app);
void add_fit(CLI::App& app);
void add_launch(CLI::App& app);
void add_netlab(CLI::App& app);
void add_show(CLI::App& app);
void add_study(CLI::App& app);
void add_trace(CLI::App& app);
void add_train(CLI::App& app);

/// Ends the program with `status` after the subcommand has already said why.
struct ExitStatus {
  int status = 0;
};

}  // namespace cerar::cli
