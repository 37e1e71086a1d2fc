#include "experiments/bench/bench.h"

#include "experiments/bench/check.h"
#include "experiments/bench/gather.h"
#include "experiments/bench/inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <time.h>
#include <utility>

namespace cerar::bench {

namespace {

double largest(Communicator& communicator, double mine) { return std::ranges::max(gather(communicator, mine)); }

/// Processor time of this process so far, in seconds.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Times the repetitions of one all-reduce.
class Repeater {
 public:
  Repeater(Communicator& communicator, const AllReduceOptions& all_reduce, const std::vector<float>& input,
           std::vector<float>& values, const BenchOptions& options)
      : communicator_(communicator), all_reduce_(all_reduce), input_(input), values_(values), options_(options) {}

  /// Of one all-reduce on this rank.
  struct Spent {
    double seconds = 0;
    double cpu_seconds = 0;
  };

  Spent repeat(Profiling profiling = Profiling::off) {
    if (options_.back_to_back > 1) {
      values_.assign(input_.size(), 0.0F);
    } else {
      values_ = input_;
    }
    communicator_.barrier();
    communicator_.profile(profiling);
    const double cpu = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t operation = 0; operation < options_.back_to_back; ++operation) {
      communicator_.all_reduce(values_, all_reduce_);
    }
    const auto end = std::chrono::steady_clock::now();
    communicator_.profile(Profiling::off);
    const auto all_reduces = static_cast<double>(options_.back_to_back);
    return {std::chrono::duration<double>(end - start).count() / all_reduces, (cpu_seconds() - cpu) / all_reduces};
  }

  /// With timers on; adds a repetition's share of the mean of `repetitions`.
  void profile(std::int64_t repetitions, RankProfile& mine) {
    const auto before = communicator_.statistics().phase_seconds;
    const double seconds = repeat(Profiling::times).seconds;
    const auto after = communicator_.statistics().phase_seconds;
    const double share = 1e6 / static_cast<double>(repetitions);
    mine.profiled_us += share * seconds;
    for (std::size_t phase = 0; phase < kPhases; ++phase) {
      mine.phase_us[phase] += share * (after[phase] - before[phase]) / static_cast<double>(options_.back_to_back);
    }
  }

 private:
  Communicator& communicator_;
  const AllReduceOptions& all_reduce_;
  const std::vector<float>& input_;
  std::vector<float>& values_;
  const BenchOptions& options_;
};

struct Repetitions {
  std::vector<double> seconds;  ///< of an all-reduce, of the slowest rank, in order
  double cpu_seconds = 0;       ///< this rank's mean
  RankProfile profile;          ///< this rank's
};

constexpr std::int64_t kFewProfiled = 3;

/// Leaves the last repetition's result in `values`. Profiled repetitions take turns with the others: what disturbs the
/// machine disturbs both.
Repetitions time_repetitions(Communicator& communicator, const AllReduceOptions& all_reduce,
                             const std::vector<float>& input, std::vector<float>& values, const BenchOptions& options) {
  Repeater repeater(communicator, all_reduce, input, values, options);
  for (std::int64_t k = 0; k < options.warmup; ++k) {
    repeater.repeat();
  }
  Repetitions repetitions;
  const auto iterations = static_cast<double>(options.iterations);
  const std::int64_t profiled = options.profile ? options.iterations : std::min(options.iterations, kFewProfiled);
  for (std::int64_t k = 0; k < options.iterations; ++k) {
    const Repeater::Spent mine = repeater.repeat();
    repetitions.cpu_seconds += mine.cpu_seconds / iterations;
    repetitions.profile.unprofiled_us += 1e6 * mine.seconds / iterations;
    repetitions.seconds.push_back(largest(communicator, mine.seconds));
    if (k < profiled) {
      repeater.profile(profiled, repetitions.profile);
    }
  }
  return repetitions;
}

TracedOperations trace(Communicator& communicator, const AllReduceOptions& all_reduce, const std::vector<float>& input,
                       std::vector<float>& values) {
  values = input;
  communicator.barrier();
  TracedOperations traced{communicator.statistics().operations, 0};
  communicator.profile(Profiling::trace);
  communicator.all_reduce(values, all_reduce);
  communicator.profile(Profiling::off);
  traced.last = communicator.statistics().operations;
  return traced;
}

std::int64_t parse_bytes(std::string_view text, const std::string& whole) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const std::string_view units = "KMG";
  std::int64_t scale = 1;
  if (unit.size() == 1 && units.find(unit[0]) != std::string_view::npos) {
    scale = std::int64_t{1} << (10 * (units.find(unit[0]) + 1));
    unit = {};
  }
  if (error != std::errc() || !unit.empty() || number < 0 || number > (std::int64_t{1} << 40) / scale) {
    throw std::invalid_argument(fmt::format(
        "'{}' in the sizes '{}' is no size; sizes look like 4K:64M, 4K:64M:2 or 1000,64K,1M (bytes)", text, whole));
  }
  return number * scale;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

BenchRow run_bench(Communicator& communicator, std::optional<Algorithm> algorithm, std::int64_t count,
                   const BenchOptions& options) {
  if (count < 0 || options.warmup < 0 || options.iterations < 1 || options.back_to_back < 1) {
    throw std::invalid_argument(
        fmt::format("{} values, {} warm-ups and {} iterations of {} all-reduces: none may be negative, and one "
                    "iteration of one all-reduce is the least",
                    count, options.warmup, options.iterations, options.back_to_back));
  }
  if (!(options.correlation >= 0 && options.correlation < 1)) {
    throw std::invalid_argument(fmt::format("a correlation of {}: it must be in [0, 1)", options.correlation));
  }
  const std::int64_t workers = communicator.size();
  std::vector<float> input(static_cast<std::size_t>(count));
  std::vector<float> values;
  const std::optional<RingCode>& code = communicator.code();
  // What is checked and described where the communicator chooses: one exact sum is as right as the other.
  const Algorithm kind = algorithm ? *algorithm : code ? algorithm_of(*code) : Algorithm::exact;
  BenchRow row{.algorithm = algorithm ? std::string(name(*algorithm)) : "auto",
               .workers = workers,
               .count = count,
               .size_bytes = 4 * count};
  if (kind == Algorithm::coded || kind == Algorithm::piggyback) {
    row.wire = std::visit([](const auto& any) { return any.noise.wire; }, *code);
  }

  fill_input(InputSet::integers, options.seed, communicator.rank(), 0, input);
  const AllReduceOptions all_reduce{.algorithm = algorithm,
                                    .slice_chunk_values = options.slice_chunk_values,
                                    .slices_in_flight = options.slices_in_flight};
  // Once before: connections are made and the communicator's choice is measured when first needed.
  values = input;
  communicator.all_reduce(values, all_reduce);
  values = input;
  const Statistics before = communicator.statistics();
  communicator.all_reduce(values, all_reduce);
  const Statistics after = communicator.statistics();
  row.wire_bytes =
      static_cast<std::int64_t>(largest(communicator, static_cast<double>(after.payload_bytes + after.header_bytes -
                                                                          before.payload_bytes - before.header_bytes)));
  if (options.checks) {
    const ResultCheck check(kind, code, communicator.rank(), workers,
                            piggyback_sign(static_cast<std::uint64_t>(before.all_reduces)));
    const std::int64_t wrong = check.count_wrong(values, options.seed, options.slice_chunk_values);
    for (const double number : gather(communicator, static_cast<double>(wrong))) {
      row.wrong += static_cast<std::int64_t>(number);
    }
    fill_input(InputSet::gradients, options.seed, communicator.rank(), 0, input, options.correlation);
  }
  const Repetitions repetitions = time_repetitions(communicator, all_reduce, input, values, options);
  for (const double seconds : repetitions.seconds) {
    row.times_us.push_back(1e6 * seconds);
  }
  row.extra_memory_bytes = static_cast<std::int64_t>(
      largest(communicator, static_cast<double>(communicator.statistics().extra_memory_bytes)));
  if (options.checks && options.back_to_back == 1) {
    row.rel_l2 = largest(communicator, relative_error(values, options.seed, workers, options.correlation));
    row.rank_div = rank_divergence(communicator, values);
  }

  std::vector<double> seconds = repetitions.seconds;
  std::ranges::sort(seconds);
  const std::size_t middle = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  row.time_us = 1e6 * median;
  row.time_min_us = 1e6 * seconds.front();
  row.time_max_us = 1e6 * seconds.back();
  std::vector<RankProfile> profiles = gather(communicator, repetitions.profile);
  for (const RankProfile& profile : profiles) {
    row.local_us = std::max(row.local_us, profile.computation_us());
  }
  if (options.profile) {
    row.profile = std::move(profiles);
  }
  if (options.trace) {
    row.traced = trace(communicator, all_reduce, input, values);
  }
  for (const double cpu : gather(communicator, repetitions.cpu_seconds)) {
    row.cpu_us += 1e6 * cpu / static_cast<double>(workers);
  }
  row.algbw_gbps = 1e-9 * static_cast<double>(row.size_bytes) / median;
  row.busbw_gbps = row.algbw_gbps * 2 * static_cast<double>(workers - 1) / static_cast<double>(workers);
  return row;
}

std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> bytes;
  const std::vector<std::string_view> range = split(text, ':');
  if (range.size() == 1) {
    for (const std::string_view part : split(text, ',')) {
      bytes.push_back(parse_bytes(part, text));
    }
  } else {
    const std::int64_t least = parse_bytes(range[0], text);
    const std::int64_t most = parse_bytes(range[1], text);
    const std::int64_t factor = range.size() > 2 ? parse_bytes(range[2], text) : 4;
    if (range.size() > 3 || least < 1 || most < least || factor < 2) {
      throw std::invalid_argument(fmt::format(
          "the sizes '{}' are no MIN:MAX[:FACTOR]; MIN is at least 1, MAX not less than MIN, FACTOR at least 2", text));
    }
    // Multiplied only while below MAX / FACTOR: no size overflows.
    for (std::int64_t size = least; size<most; size = size> most / factor ? most : size * factor) {
      bytes.push_back(size);
    }
    bytes.push_back(most);
  }
  for (std::int64_t& size : bytes) {
    size = (size + 3) / 4;
  }
  return bytes;
}

}  // namespace cerar::bench
