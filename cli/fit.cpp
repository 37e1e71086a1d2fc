#include "cli/commands.h"
#include "coding/code_file.h"
#include "optimize/fit.h"

#include <fmt/core.h>

#include <memory>

namespace cerar::cli {

void add_fit(CLI::App& app) {
  CLI::App* fit_app = app.add_subcommand("fit", "Find a code for N workers and c chunks and write it to a file");
  auto problem = std::make_shared<FitProblem>();
  auto output = std::make_shared<std::string>();
  fit_app->add_option("--workers", problem->shape.workers)->required();
  fit_app->add_option("--chunks", problem->shape.chunks)->required();
  fit_app->add_option("--construction", problem->construction);
  fit_app->add_option("-o,--output", *output);
  fit_app->callback([=] {
    const FitResult result = fit(*problem);
    fmt::print("predicted relative error {:.4f} %\n", 100 * result.code.predicted_relative_error);
    if (!output->empty()) {
      write_code_file(result.code, *output);
    }
  });
}

}  // namespace cerar::cli
