#include "cli/commands.h"
#include "cli/study_commands.h"
#include "experiments/bench/bench.h"
#include "experiments/netlab/link_rate.h"
#include "experiments/study/ring.h"

#include <fmt/core.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cerar::cli {
namespace {

struct Arguments {
  RingStudyOptions options;
  std::vector<std::string> rates = {"100Mbit", "1Gbit", "10Gbit", "100Gbit"};
  std::string size = "64M";
  std::string slow_rate;
  double latency_us = 50;
  std::string costs_file;
  std::string measured_file;
  std::string measured_at;
  std::string folder;
};

void run(Arguments arguments) {
  RingStudyOptions& options = arguments.options;
  options.rates.clear();
  for (const std::string& rate : arguments.rates) {
    options.rates.push_back(netlab::parse_rate(rate));
  }
  if (!arguments.slow_rate.empty()) {
    options.slow_rate = netlab::parse_rate(arguments.slow_rate);
  }
  options.latency_seconds = 1e-6 * arguments.latency_us;
  const std::vector<std::int64_t> counts = bench::parse_sizes(arguments.size);
  if (counts.size() != 1) {
    throw std::invalid_argument(fmt::format("--size is '{}'; it must be one size", arguments.size));
  }
  options.bytes = 4 * counts.front();
  if (!arguments.costs_file.empty()) {
    options.work = work_of(bench::read_report(arguments.costs_file));
  }
  if (!arguments.measured_file.empty()) {
    if (arguments.measured_at.empty()) {
      throw std::invalid_argument("--measured needs --measured-at, the rate of the links it was measured over");
    }
    const bench::BenchReport report = bench::read_report(arguments.measured_file);
    fmt::print("{}", validation_table(validate_ring(report, netlab::parse_rate(arguments.measured_at), options)));
    return;
  }
  const RingStudy study = study_ring(options);
  if (!arguments.folder.empty()) {
    write_ring(study, arguments.folder);
  }
  fmt::print("{}", ring_table(study));
  if (!arguments.folder.empty()) {
    fmt::print("\nresults: {}\n", arguments.folder);
  }
}

}  // namespace

void add_study_ring(CLI::App& study) {
  auto arguments = std::make_shared<Arguments>();
  RingStudyOptions& options = arguments->options;
  CLI::App* command =
      study.add_subcommand("ring", "Simulate all-reduces of thousands of workers over links of any rate");
  command->add_option("--workers", options.workers, "N, a list")->delimiter(',')->capture_default_str();
  command->add_option("--rates", arguments->rates, "Of the links, a list")->delimiter(',')->capture_default_str();
  command->add_option("--slow-rate", arguments->slow_rate,
                      "Of the one link from the last rank to rank 0, if it differs");
  command->add_option("--latency", arguments->latency_us, "Of a link, in microseconds")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command->add_option("--mtu", options.mtu, "Of the links; headers of TCP, IP and Ethernet take their share")
      ->check(CLI::Range(std::int64_t{53}, std::int64_t{65535}))
      ->capture_default_str();
  command->add_option("--size", arguments->size, "Of the vector, in bytes with K, M, G")->capture_default_str();
  command->add_option("--coded-chunks", options.coded_chunks, "c / N of the coded ring")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}))
      ->capture_default_str();
  command->add_option("--piggyback-chunks", options.piggyback_chunks, "c / N of the piggyback ring")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}))
      ->capture_default_str();
  command->add_option("--slice-chunk-values", options.slice_chunk_values, "As bench has it")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--slices-in-flight", options.slices_in_flight, "As bench has it")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command->add_option(
      "--costs", arguments->costs_file,
      "What work costs: a report of 'cerar bench --profile --json', of which the largest vectors count");
  command->add_option("--measured", arguments->measured_file,
                      "Instead: simulate what this report of 'cerar bench --json' measured, and compare");
  command->add_option("--measured-at", arguments->measured_at, "Rate of the links in that measurement");
  command->add_option("-o,--output", arguments->folder,
                      "Folder for ring.csv, break_even.csv, summary.json and pictures");
  command->footer(
      "Example: cerar study ring --workers 4,64,1024 --rates 1Gbit,10Gbit --size 64M -o ring\n"
      "docs/simulation.md has the model and how well it agrees with measurements.");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace cerar::cli
