#include "cli/commands.h"
#include "cli/study_commands.h"
#include "cli/study_console.h"
#include "experiments/study/conditioning.h"
#include "experiments/study/fixed_code.h"
#include "experiments/study/matrix_file.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

namespace cerar::cli {
namespace {

struct Arguments {
  StudyArguments study;
  std::optional<std::int64_t> workers;
  std::optional<std::int64_t> chunks;
  std::string construction = "mpc";
  std::string from;
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

std::variant<WindowSource, EncoderSource> source_of(const Arguments& arguments) {
  if (!arguments.from.empty()) {
    return read_matrices(arguments.from);
  }
  if (!arguments.workers || !arguments.chunks) {
    throw std::invalid_argument("--workers and --chunks are missing; give both, or --from FILE");
  }
  return window_source(arguments.construction, {*arguments.workers, *arguments.chunks});
}

void run_family(const WindowSource& source, const Arguments& arguments) {
  ConditioningOptions options;
  options.source = source;
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

void run_fixed(const EncoderSource& source, const Arguments& arguments) {
  const StudyConsole console;
  const auto study =
      study_fixed_code(source, parse_digits(arguments.digits), arguments.study.folder, console.hooks(arguments.study));
  if (!study) {
    end_interrupted(arguments.study);
  }
  write_fixed_code(*study, arguments.study.folder);
  fmt::print("{}\nresults: {}\n", fixed_code_table(*study), arguments.study.folder);
}

void run(const Arguments& arguments) {
  const auto source = source_of(arguments);
  if (const auto* family = std::get_if<WindowSource>(&source)) {
    run_family(*family, arguments);
  } else {
    run_fixed(std::get<EncoderSource>(source), arguments);
  }
}

}  // namespace

void add_study_conditioning(CLI::App& study) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = study.add_subcommand(
      "conditioning", "How the singular values of the windows split into powers of eps, in multiprecision");
  command->add_option("--workers", arguments->workers, "N, workers on the ring");
  command->add_option("--chunks", arguments->chunks, "c >= N, chunks the gradient is cut in");
  command
      ->add_option("--construction", arguments->construction,
                   fmt::format("one of {}; overlapped with delta = eps", fmt::join(windowed_constructions(), ", ")))
      ->capture_default_str();
  command
      ->add_option(
          "--from", arguments->from,
          "Matrices of your own instead of a construction: a code file (its U, at its one point) or a CSV file, "
          "each line a name and a row: B and H, or U0, U1, ..")
      ->excludes("--workers", "--chunks", "--construction");
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
      "Writes summary.json, singular_values.csv, kappa.csv, slopes.csv and two pictures; from encoders U, for which "
      "there is "
      "no eps, only their singular values and condition numbers.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
