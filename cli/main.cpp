#include "cli/commands.h"
#include "version.h"

#include <fmt/core.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  CLI::App app{
      "cerar: coded all-reduce. Fits codes, runs them on a ring of processes, and says how wrong the sum was."};
  app.name("cerar");
  app.set_version_flag("--version", "cerar " CERAR_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Example: cerar fit --workers 4 --chunks 12 -o code.json && cerar bench --workers 4 --code code.json\n"
      "Every subcommand has --help with an example of its own.");
  cerar::cli::add_fit(app);
  cerar::cli::add_show(app);
  cerar::cli::add_trace(app);
  cerar::cli::add_launch(app);
  cerar::cli::add_bench(app);
  cerar::cli::add_train(app);
  cerar::cli::add_compare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const cerar::cli::ExitStatus& exit) {
    return exit.status;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cerar: {}\n", error.what());
    return 1;
  }
  return 0;
}
