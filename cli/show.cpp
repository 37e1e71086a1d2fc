#include "cli/code_report.h"
#include "cli/commands.h"
#include "cli/piggyback_report.h"
#include "coding/code_file.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <variant>

namespace cerar::cli {
namespace {

struct ShowArguments {
  std::string file;
  bool json = false;
};

void run(const ShowArguments& arguments) {
  std::visit(
      [&](const auto& code) {
        const auto report = make_report(code);
        if (arguments.json) {
          nlohmann::ordered_json object = report_json(code, report);
          object["file"] = arguments.file;
          fmt::print("{}\n", object.dump(2));
          return;
        }
        fmt::print("{}: {}", arguments.file, report_text(code, report));
      },
      read_code_file(arguments.file));
}

}  // namespace

void add_show(CLI::App& app) {
  CLI::App* command = app.add_subcommand("show", "Explain a code file: rate, decoding, error, conditioning, cost");
  auto arguments = std::make_shared<ShowArguments>();
  command->add_option("FILE", arguments->file, "a code file, as `cerar fit -o` writes it")->required();
  command->add_flag("--json", arguments->json, "print one JSON object instead of the table");
  command->footer("Example: cerar fit --workers 4 --chunks 12 -o code.json && cerar show code.json");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
