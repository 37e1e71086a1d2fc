#include "experiments/study/ring.h"

#include "experiments/netlab/link_rate.h"
#include "experiments/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace cerar {
namespace {

/// Beyond it a point takes minutes; the naive ring with thousands of ranks told apart gets there.
constexpr double kMostSteps = 3e8;
constexpr double kLeastRate = 1e5;
constexpr double kMostRate = 1e13;

void validate(const RingStudyOptions& options) {
  const auto require = [](bool holds, const std::string& sentence) {
    if (!holds) {
      throw std::invalid_argument(sentence);
    }
  };
  for (const std::int64_t workers : options.workers) {
    require(workers >= 2 && workers <= 1'000'000,
            fmt::format("{} workers cannot be simulated; it takes 2 to a million", workers));
  }
  require(options.mtu > 52, fmt::format("an MTU of {}: TCP over IPv4 needs 52 bytes for itself", options.mtu));
  require(options.bytes >= 0 && options.coded_chunks >= 1 && options.piggyback_chunks >= 1,
          "the vector's size must not be negative and there must be at least one chunk a worker");
  require(options.work.contains("exact"),
          "without the exact ring's costs there is nothing to compare with; measure "
          "them with 'cerar bench --algorithms exact,... --profile --json FILE'");
}

SimulatedRing ring_of(const RingStudyOptions& options, std::int64_t workers, std::int64_t chunks, std::int64_t rounds,
                      std::int64_t values) {
  return {workers, chunks, rounds, values, options.slice_chunk_values, options.slices_in_flight};
}

SimulatedRing ring_of(const RingStudyOptions& options, std::int64_t workers, const std::string& algorithm) {
  const std::int64_t values = (options.bytes + 3) / 4;
  if (algorithm == "naive") {
    return ring_of(options, workers, 1, workers - 1, values);
  }
  const std::int64_t factor = algorithm == "coded"       ? options.coded_chunks
                              : algorithm == "piggyback" ? options.piggyback_chunks
                                                         : 1;
  return ring_of(options, workers, factor * workers, factor * workers + workers - 2, values);
}

SimulatedLink link_of(const RingStudyOptions& options, double rate) {
  return {netlab::goodput_bytes_per_second(rate, options.mtu), options.latency_seconds};
}

std::vector<SimulatedLink> links_of(const RingStudyOptions& options, std::int64_t workers, double rate) {
  if (!options.slow_rate) {
    return {link_of(options, rate)};
  }
  std::vector<SimulatedLink> links(static_cast<std::size_t>(workers), link_of(options, rate));
  links.back() = link_of(options, *options.slow_rate);
  return links;
}

/// Seconds of all algorithms, at one number of workers and one rate.
std::vector<RingPoint> points_of(const RingStudyOptions& options, std::int64_t workers, double rate,
                                 const std::vector<std::string>& algorithms) {
  const std::vector<SimulatedLink> links = links_of(options, workers, rate);
  std::vector<RingPoint> points;
  double exact = 0;
  for (const std::string& algorithm : algorithms) {
    const SimulatedRing ring = ring_of(options, workers, algorithm);
    if (simulation_steps(ring, links.size()) > kMostSteps) {
      continue;
    }
    const SimulatedTime time = simulate(ring, links, options.work.at(algorithm));
    exact = algorithm == "exact" ? time.seconds : exact;
    points.push_back({workers, rate, algorithm, ring.chunks, time, exact > 0 ? time.seconds / exact : 1});
  }
  return points;
}

double ratio_at(const RingStudyOptions& options, std::int64_t workers, const std::string& algorithm, double rate) {
  const std::vector<RingPoint> points = points_of(options, workers, rate, {"exact", algorithm});
  return points.size() == 2 ? points.back().to_exact : std::numeric_limits<double>::quiet_NaN();
}

/// The ratio grows with the rate: latency and work count the more, the less the bytes do.
BreakEven break_even_of(const RingStudyOptions& options, std::int64_t workers, const std::string& algorithm) {
  double low = std::log(kLeastRate);
  double high = std::log(kMostRate);
  if (ratio_at(options, workers, algorithm, kLeastRate) >= 1) {
    return {workers, algorithm, 0};
  }
  if (ratio_at(options, workers, algorithm, kMostRate) < 1) {
    return {workers, algorithm, std::numeric_limits<double>::infinity()};
  }
  while (high - low > 1e-3) {
    const double middle = (low + high) / 2;
    (ratio_at(options, workers, algorithm, std::exp(middle)) < 1 ? low : high) = middle;
  }
  return {workers, algorithm, std::exp((low + high) / 2)};
}

}  // namespace

RingStudy study_ring(const RingStudyOptions& options) {
  validate(options);
  RingStudy study{options, {}, {}, {}};
  std::vector<std::string> algorithms = {"exact"};
  std::vector<std::string> codes;
  for (const char* algorithm : {"coded", "piggyback", "naive"}) {
    if (options.work.contains(algorithm)) {
      algorithms.emplace_back(algorithm);
    }
    if (options.work.contains(algorithm) && std::string_view(algorithm) != "naive") {
      codes.emplace_back(algorithm);
    }
  }
  for (const std::int64_t workers : options.workers) {
    for (const double rate : options.rates) {
      const std::vector<RingPoint> points = points_of(options, workers, rate, algorithms);
      study.points.insert(study.points.end(), points.begin(), points.end());
    }
    if (options.slow_rate || codes.empty()) {
      continue;
    }
    for (const std::string& algorithm : codes) {
      study.break_even.push_back(break_even_of(options, workers, algorithm));
    }
    const auto [least, most] = std::ranges::minmax(options.rates);
    constexpr int kSteps = 24;
    for (int step = 0; step <= kSteps; ++step) {
      const double rate = least * std::pow(most / least, static_cast<double>(step) / kSteps);
      std::vector<std::string> drawn = {"exact"};
      drawn.insert(drawn.end(), codes.begin(), codes.end());
      const std::vector<RingPoint> points = points_of(options, workers, rate, drawn);
      study.curve.insert(study.curve.end(), points.begin() + 1, points.end());
    }
  }
  return study;
}

std::vector<ValidatedRow> validate_ring(const bench::BenchReport& report, double rate,
                                        const RingStudyOptions& options) {
  std::vector<ValidatedRow> rows;
  for (const bench::BenchRow& row : report.rows) {
    if (row.algorithm == "auto" || row.algorithm == "doubling" || !options.work.contains(row.algorithm)) {
      continue;
    }
    const SimulatedRing ring = ring_of(options, row.workers, report.chunks_of(row), report.rounds(row), row.count);
    const std::vector links = {link_of(options, rate)};
    rows.push_back({row.algorithm, row.workers, row.size_bytes, 1e-6 * row.time_us,
                    simulate(ring, links, options.work.at(row.algorithm)).seconds});
  }
  return rows;
}

std::string validation_table(const std::vector<ValidatedRow>& rows) {
  TextTable table;
  table.add_row({"measured", "workers", "bytes", "measured ms", "simulated ms", "simulated is"});
  table.add_rule();
  for (const ValidatedRow& row : rows) {
    table.add_row({row.algorithm, fmt::format("{}", row.workers), fmt::format("{}", row.bytes),
                   fmt::format("{:.3f}", 1e3 * row.measured_seconds),
                   fmt::format("{:.3f}", 1e3 * row.simulated_seconds),
                   fmt::format("{:+.1f} %", 100 * (row.simulated_seconds / row.measured_seconds - 1))});
  }
  return table.text();
}

}  // namespace cerar
