#include "cli/commands.h"
#include "version.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>

namespace {

/// What was printed may still fail to be written, on a full disk for one: then the command has not done what it should.
int finish(int status) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    fmt::print(stderr, "cerar: the output could not be written: {}; is the disk full?\n", std::strerror(errno));
    return status == 0 ? 1 : status;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "cerar: coded all-reduce. Fits codes, runs them on a ring of processes, and says how wrong the sum was."};
  app.name("cerar");
  app.set_version_flag("--version", "cerar " CERAR_VERSION "\n");
  app.require_subcommand(1);
  app.footer(
      "Example: cerar fit --workers 4 --chunks 12 -o code.json && cerar bench --workers 4 --code code.json\n"
      "Every subcommand has --help with an example of its own.");
  cerar::cli::add_fit(app);
  cerar::cli::add_show(app);
  cerar::cli::add_trace(app);
  cerar::cli::add_launch(app);
  cerar::cli::add_netlab(app);
  cerar::cli::add_bench(app);
  cerar::cli::add_train(app);
  cerar::cli::add_compare(app);
  cerar::cli::add_study(app);
  try {
    const std::string_view first = argc > 1 ? argv[1] : "-";
    const bool is_known = !app.get_subcommands([&](const CLI::App* one) { return one->get_name() == first; }).empty();
    if (!first.starts_with('-') && !is_known) {
      throw std::invalid_argument(fmt::format("no subcommand is called '{}'; 'cerar --help' lists them", argv[1]));
    }
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError& error) {
    const int status = app.exit(error);
    if (app.got_subcommand("launch")) {
      fmt::print(stderr, "Put -- before the program to launch: what follows it is the program's own.\n");
    }
    return finish(status);
  } catch (const CLI::ParseError& error) {
    return finish(app.exit(error));
  } catch (const cerar::cli::ExitStatus& exit) {
    return finish(exit.status);
  } catch (const std::exception& error) {
    fmt::print(stderr, "cerar: {}\n", error.what());
    return 1;
  }
  return finish(0);
}
