#include "cli/commands.h"
#include "cli/study_commands.h"
#include "cli/study_console.h"
#include "experiments/study/conditioning.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <charconv>
#include <memory>
#include <stdexcept>
#include <string>

namespace cerar::cli {
namespace {

struct Arguments {
  StudyArguments study;
  RingShape shape;
  std::string construction = "mpc";
  std::string eps = "1e-1:1e-12";
  int points = 24;
  std::string digits = "auto";
  std::uint64_t seed = 1;
  int seeds = 1;
};

std::optional<int> parse_digits(const std::string& text) {
  if (text == "auto") {
    return std::nullopt;
  }
  int digits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digits);
  if (error != std::errc() || end != text.data() + text.size() || digits < 1 || digits > 100'000) {
    throw std::invalid_argument(fmt::format("--digits: \"{}\" is neither auto nor a number from 1 to 100000", text));
  }
  return digits;
}

void run(const Arguments& arguments) {
  ConditioningOptions options;
  options.source = window_source(arguments.construction, arguments.shape);
  options.first_seed = arguments.seed;
  options.seeds = arguments.seeds;
  options.eps = parse_grid("--eps", arguments.eps, arguments.points);
  options.digits = parse_digits(arguments.digits);
  const StudyConsole console;
  const auto study = study_conditioning(options, arguments.study.folder, console.hooks(arguments.study));
  if (!study) {
    end_interrupted(arguments.study);
  }
  write_conditioning(*study, arguments.study.folder);
  fmt::print("{}\nresults: {}\n", conditioning_table(*study), arguments.study.folder);
  if (study->verdict() == Verdict::contradicted) {
    throw ExitStatus{1};
  }
}

}  // namespace

void add_study_conditioning(CLI::App& study) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = study.add_subcommand(
      "conditioning", "How the singular values of the windows split into powers of eps, in multiprecision");
  command->add_option("--workers", arguments->shape.workers, "N, workers on the ring")->required();
  command->add_option("--chunks", arguments->shape.chunks, "c >= N, chunks the gradient is cut in")->required();
  command
      ->add_option("--construction", arguments->construction,
                   fmt::format("one of {}; overlapped with delta = eps", fmt::join(windowed_constructions(), ", ")))
      ->capture_default_str();
  command->add_option("--eps", arguments->eps, "Range or list of the perturbation's size")->capture_default_str();
  command->add_option("--points", arguments->points, "Values of eps in a range, equidistant in the logarithm")
      ->check(CLI::Range(3, 10'000))
      ->capture_default_str();
  command
      ->add_option("--digits", arguments->digits,
                   "Decimal digits, or auto: 16 more than the condition numbers can cost. Every figure is confirmed "
                   "with twice as many")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "mpc: of the random B and H")->capture_default_str();
  command->add_option("--seeds", arguments->seeds, "mpc: as many seeds from --seed on")->capture_default_str();
  add_study_options(*command, arguments->study);
  command->footer(
      "Example: cerar study conditioning --workers 8 --chunks 20 -o conditioning\n"
      "Writes summary.json, singular_values.csv, kappa.csv, slopes.csv and two pictures.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
