#include "collective/operations.h"

#include "coding/piggyback_integer.h"
#include "collective/doubling.h"
#include "collective/kernels.h"
#include "collective/pairs.h"
#include "collective/piggyback_kernels.h"
#include "collective/stopwatch.h"
#include "collective/switch_over.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace cerar {

namespace {

void validate(const CommunicatorOptions& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    throw std::invalid_argument(
        fmt::format("rank {} of {} workers: the rank must be in [0, workers)", options.rank, options.size));
  }
  if (!(options.timeout_seconds > 0)) {
    throw std::invalid_argument(fmt::format("a timeout of {} s: it must be positive", options.timeout_seconds));
  }
  if (options.code) {
    validate(*options.code);
    require_ring_for_wire(*options.code);
    const std::int64_t workers = shape_of(*options.code).workers;
    if (workers != options.size) {
      throw std::invalid_argument(
          fmt::format("the code is for {} workers and this job has {}; fit one with --workers {}", workers,
                      options.size, options.size));
    }
  }
}

std::uint64_t hash_plan(std::span<const Slice> slices, std::int64_t slots) {
  return XXH3_64bits_withSeed(slices.data(), slices.size_bytes(), static_cast<XXH64_hash_t>(slots));
}

bool needs_code(Algorithm algorithm) noexcept {
  return algorithm == Algorithm::coded || algorithm == Algorithm::piggyback;
}

/// For sums in which no value's error depends on another value.
AllReduceOptions as_one_tensor(AllReduceOptions options) {
  options.tensor_lengths = {};
  return options;
}

}  // namespace

Operations::Operations(CommunicatorOptions options) : options_(std::move(options)) {
  validate(options_);
  code_hash_ = options_.code ? hash(*options_.code) : 0;
  switch_over_bytes_ = options_.doubling_up_to_bytes;
  if (options_.size > 1) {
    link_.emplace(options_.rank, options_.size, options_.timeout_seconds, rendezvous(options_));
  }
}

Operations::~Operations() {
  if (link_) {
    link_->control().say_goodbye();
  }
}

void Operations::require_valid(std::span<const float> values, const AllReduceOptions& options) const {
  if (options.algorithm && needs_code(*options.algorithm) &&
      (!options_.code || *options.algorithm != algorithm_of(*options_.code))) {
    throw std::invalid_argument(fmt::format("the {} all-reduce needs a code of its kind and this communicator has {}",
                                            name(*options.algorithm), options_.code ? "another" : "none"));
  }
  if (options.slice_chunk_values < 1 || options.slices_in_flight < 1) {
    throw std::invalid_argument(fmt::format("slice_chunk_values is {} and slices_in_flight {}; both must be at least 1",
                                            options.slice_chunk_values, options.slices_in_flight));
  }
  const std::span<const std::int64_t> lengths = options.tensor_lengths;
  const std::int64_t sum = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  if (!lengths.empty() && (sum != static_cast<std::int64_t>(values.size()) ||
                           std::ranges::any_of(lengths, [](std::int64_t length) { return length < 0; }))) {
    throw std::invalid_argument(fmt::format(
        "the tensors' lengths add up to {} and the vector holds {} values; they must agree and none be negative", sum,
        values.size()));
  }
}

void Operations::all_reduce(std::span<float> values, const AllReduceOptions& options) {
  require_valid(values, options);
  const Stopwatch watch(statistics_.total_seconds);
  recorder_.set_operation(statistics_.operations);
  recorder_.set_place(-1, 0);
  const Algorithm algorithm = algorithm_for(values, options);
  const std::int64_t all_reduce = statistics_.all_reduces++;
  switch (algorithm) {
    case Algorithm::exact:
      return run_ring(Kind::all_reduce_exact, values, options_.size, as_one_tensor(options), make_exact_executor);
    case Algorithm::naive:
      return run_ring(Kind::all_reduce_naive, values, 1, as_one_tensor(options), make_naive_executor);
    case Algorithm::coded:
      return run_ring(
          Kind::all_reduce_coded, values, shape_of(*options_.code).chunks, options,
          [this](const SliceContext& context) { return make_coded_executor(context, std::get<Code>(*options_.code)); });
    case Algorithm::piggyback:
      return piggyback(values, options, piggyback_sign(static_cast<std::uint64_t>(all_reduce)));
    case Algorithm::doubling:
      require_finite(values, Kind::all_reduce_doubling);
      cut(values, options_.size, as_one_tensor(options));
      return double_up(Kind::all_reduce_doubling, values, hash_plan(slices_, options.slices_in_flight));
  }
}

void Operations::all_gather(std::span<const float> mine, std::span<float> all) {
  const auto size = static_cast<std::size_t>(options_.size);
  if (all.size() != size * mine.size()) {
    throw std::invalid_argument(fmt::format("all_gather of {} values from {} workers needs room for {}, not {}",
                                            mine.size(), size, size * mine.size(), all.size()));
  }
  const Stopwatch watch(statistics_.total_seconds);
  std::ranges::copy(mine, all.begin() + options_.rank * static_cast<std::ptrdiff_t>(mine.size()));
  cut(mine, 1, {});
  transfer(Kind::all_gather, {all, slices_}, {}, make_gather_executor);
  ++statistics_.operations;
}

void Operations::barrier() {
  const Stopwatch watch(statistics_.total_seconds);
  // A value to sum: of an empty vector the ranks beyond a power of two would await no result.
  float nothing = 0;
  double_up(Kind::barrier, std::span(&nothing, 1), 0);
}

Algorithm Operations::algorithm_for(std::span<const float> values, const AllReduceOptions& options) {
  if (options.algorithm) {
    return *options.algorithm;
  }
  if (options_.code) {
    return algorithm_of(*options_.code);
  }
  return prefers_doubling(static_cast<std::int64_t>(values.size_bytes())) ? Algorithm::doubling : Algorithm::exact;
}

bool Operations::prefers_doubling(std::int64_t bytes) {
  if (!switch_over_bytes_ && link_ && bytes > kAlwaysDoublingBytes && bytes <= kNeverDoublingBytes) {
    measure_switch_over();
  }
  return bytes <= switch_over_bytes_.value_or(kAlwaysDoublingBytes);
}

// Both ways of adding, at a size at which latency counts and one at which bandwidth does.
void Operations::measure_switch_over() {
  constexpr std::size_t kFew = 16;
  constexpr std::size_t kMany = 16384;
  std::vector<float> values(kMany);
  std::array<double, 4> mine;
  std::size_t next = 0;
  for (const Kind kind : {Kind::all_reduce_doubling, Kind::all_reduce_exact}) {
    for (const std::size_t count : {kFew, kMany}) {
      mine[next++] = fastest(kind, std::span(values).first(count));
    }
  }
  std::vector<float> all(mine.size() * static_cast<std::size_t>(options_.size));
  const std::array<float, 4> told = {static_cast<float>(mine[0]), static_cast<float>(mine[1]),
                                     static_cast<float>(mine[2]), static_cast<float>(mine[3])};
  all_gather(told, all);
  std::array<double, 4> slowest{};
  for (std::size_t k = 0; k < all.size(); ++k) {
    slowest[k % 4] = std::max(slowest[k % 4], static_cast<double>(all[k]));
  }
  const auto line = [](double few, double many) {
    return LinearTime::through(sizeof(float) * kFew, few, sizeof(float) * kMany, many);
  };
  switch_over_bytes_ = switch_over_bytes(line(slowest[0], slowest[1]), line(slowest[2], slowest[3]));
}

double Operations::fastest(Kind kind, std::span<float> values) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRepetitions = 6;  // the first of which warms connections and buffers up
  double least = 1e9;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const auto start = Clock::now();
    if (kind == Kind::all_reduce_doubling) {
      double_up(kind, values, 0);
    } else {
      run_ring(kind, values, options_.size, {}, make_exact_executor);
    }
    if (repetition > 0) {
      least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
    }
  }
  return least;
}

void Operations::piggyback(std::span<float> values, const AllReduceOptions& options, int sign) {
  const auto& code = std::get<PiggybackCode>(*options_.code);
  if (code.is_exact()) {
    return run_ring(Kind::all_reduce_piggyback, values, options_.size, as_one_tensor(options), make_exact_executor);
  }
  if (code.is_integer()) {
    agree_on_rms(values, options);
    cut(values, code.shape.chunks, options);
    integer_plan_ = {slices_, gathered_, sign};
    transfer(
        Kind::all_reduce_piggyback, {values, slices_}, options,
        [&](const SliceContext& context) { return make_piggyback_integer_executor(context, code, integer_plan_); },
        sizeof(float) * (gathered_.size() + measured_.size()));
  } else {
    cut(values, code.shape.chunks, options);
    measured_.clear();
    if (code.adapts_scale) {
      const PhaseTimer timer(recorder_, Phase::encode);
      measure_chunks(
          values, slices_, code.shape.chunks,
          [](const float* first, std::int64_t count, std::int64_t) { return l1_norm_of(first, count); }, measured_);
    }
    require_finite(values, measured_);
    piggyback_ = {slices_, measured_, sign};
    transfer(
        Kind::all_reduce_piggyback, {values, slices_}, options,
        [&](const SliceContext& context) { return make_piggyback_executor(context, code, piggyback_); },
        sizeof(float) * measured_.size());
  }
  ++statistics_.operations;
}

/// Before the first contribution is rounded, every rank must know how large every other's chunks are.
void Operations::agree_on_rms(std::span<float> values, const AllReduceOptions& options) {
  const std::int64_t chunks = shape_of(*options_.code).chunks;
  cut(values, chunks, options);
  {
    const PhaseTimer timer(recorder_, Phase::encode);
    measure_chunks(values, slices_, chunks, chunk_rms, measured_);
  }
  require_finite(values, measured_);
  gathered_.resize(static_cast<std::size_t>(options_.size) * measured_.size());
  std::ranges::copy(measured_, gathered_.begin() + options_.rank * static_cast<std::ptrdiff_t>(measured_.size()));
  cut(measured_, 1, as_one_tensor(options));
  transfer(Kind::piggyback_scales, {gathered_, slices_}, options, make_gather_executor);
}

void Operations::double_up(Kind kind, std::span<float> values, std::uint64_t plan_hash) {
  if (link_) {
    connect_pairs_once();
    link_->control().require_intact();
    const OperationHeader header{.sequence = static_cast<std::uint64_t>(statistics_.operations),
                                 .kind = kind,
                                 .values = values.size(),
                                 .plan_hash = plan_hash};
    run_doubling(*link_, header, values, arriving_, recorder_);
    statistics_.extra_memory_bytes =
        std::max(statistics_.extra_memory_bytes, static_cast<std::int64_t>(arriving_.size() * sizeof(float)));
  }
  ++statistics_.operations;
}

void Operations::connect_pairs_once() {
  if (!link_->pairs().empty()) {
    return;
  }
  const Socket listener = listen_for_pairs(*link_);
  std::vector<PairAddress> addresses(static_cast<std::size_t>(options_.size));
  addresses[static_cast<std::size_t>(options_.rank)] = pair_address(listener);
  const std::span<float> all(addresses.front().data(), addresses.size() * addresses.front().size());
  cut(addresses.front(), 1, {});
  transfer(Kind::pair_addresses, {all, slices_}, {}, make_gather_executor);
  link_->set_pairs(connect_pairs(options_, link_->control(), listener, addresses));
}

/// The piggyback ring has measured all values before: where a norm isn't finite a value may not be.
void Operations::require_finite(std::span<const float> values, std::span<const float> measured) {
  if (measured.empty() || first_nonfinite(measured) < measured.size()) {
    require_finite(values, Kind::all_reduce_piggyback);
  }
}

void Operations::require_finite(std::span<const float> values, Kind kind) {
  const PhaseTimer timer(recorder_, Phase::check);
  const std::size_t bad = first_nonfinite(values);
  if (bad < values.size()) {
    report_nonfinite(values, bad, kind);
  }
}

/// A NaN would spread to every rank's sum without a trace of where it came from.
void Operations::report_nonfinite(std::span<const float> values, std::size_t bad, Kind kind) {
  const std::string sentence =
      fmt::format("rank {}: value {} of {} is {} in operation {}, {}; a sum with it would be worthless", options_.rank,
                  bad, values.size(), values[bad], statistics_.operations, name(kind));
  if (link_) {
    link_->control().require_intact();
    link_->control().fail(sentence);
  }
  throw RingError(sentence);
}

template <class MakeExecutor>
void Operations::run_ring(Kind kind, std::span<float> values, std::int64_t chunks, const AllReduceOptions& options,
                          MakeExecutor make_executor) {
  cut(values, chunks, options);
  transfer(kind, {values, slices_, true}, options, make_executor);
  ++statistics_.operations;
}

/// One pass of the pipeline: an operation is one or, where the ranks have to agree on something before, two.
/// @param held_bytes  working memory besides the executors'
template <class MakeExecutor>
void Operations::transfer(Kind kind, const PipelineData& data, const AllReduceOptions& options,
                          MakeExecutor make_executor, std::size_t held_bytes) {
  if (!link_) {
    if (data.must_be_finite) {
      require_finite(data.values, kind);
    }
    return;
  }
  link_->control().require_intact();
  const bool is_coded =
      kind == Kind::all_reduce_coded || kind == Kind::all_reduce_piggyback || kind == Kind::piggyback_scales;
  const OperationHeader header{.sequence = static_cast<std::uint64_t>(statistics_.operations),
                               .kind = kind,
                               .values = data.values.size(),
                               .code_hash = is_coded ? code_hash_ : 0,
                               .plan_hash = hash_plan(data.slices, options.slices_in_flight)};
  const std::span<PipelineSlot> slots = slots_for(kind, data.slices, options.slices_in_flight, make_executor);
  try {
    run_pipeline(*link_, header, data, slots, recorder_);
  } catch (const NonfiniteValue& bad) {
    report_nonfinite(data.values, bad.index, kind);
  } catch (const std::overflow_error& error) {
    link_->control().fail(fmt::format("rank {}: {}, {}", options_.rank, to_string(header), error.what()));
  }
  auto memory = static_cast<std::int64_t>(slices_.capacity() * sizeof(Slice) + held_bytes);
  for (const PipelineSlot& slot : slots) {
    memory += slot.executor->memory_bytes();
  }
  statistics_.extra_memory_bytes = std::max(statistics_.extra_memory_bytes, memory);
}

template <class MakeExecutor>
std::span<PipelineSlot> Operations::slots_for(Kind kind, std::span<const Slice> slices, std::int64_t slices_in_flight,
                                              MakeExecutor make_executor) {
  std::int64_t longest = 0;
  for (const Slice& slice : slices) {
    longest = std::max(longest, slice.chunk_values);
  }
  ExecutorSet& set = executors_[static_cast<std::size_t>(kind)];
  if (longest > set.longest_message) {
    set.slots.clear();
    set.longest_message = longest;
  }
  const auto slots =
      static_cast<std::size_t>(std::clamp<std::int64_t>(static_cast<std::int64_t>(slices.size()), 1, slices_in_flight));
  while (set.slots.size() < slots) {
    set.slots.push_back({make_executor(SliceContext{options_.rank, options_.size, set.longest_message, recorder_})});
  }
  return std::span(set.slots).first(slots);
}

void Operations::cut(std::span<const float> values, std::int64_t chunks, const AllReduceOptions& options) {
  // A slice beyond the vector's end would only overflow.
  const std::int64_t most = std::max<std::int64_t>(1, static_cast<std::int64_t>(values.size()));
  const std::array whole = {static_cast<std::int64_t>(values.size())};
  cut_slices(options.tensor_lengths.empty() ? std::span<const std::int64_t>(whole) : options.tensor_lengths, chunks,
             std::min(options.slice_chunk_values, most), slices_);
}

}  // namespace cerar
