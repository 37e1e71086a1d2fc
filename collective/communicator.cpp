#include "collective/communicator.h"

#include "coding/piggyback_integer.h"
#include "collective/kernels.h"
#include "collective/link.h"
#include "collective/operation.h"
#include "collective/piggyback_integer_executor.h"
#include "collective/piggyback_kernels.h"
#include "collective/pipeline.h"
#include "collective/rendezvous.h"
#include "collective/slice_executor.h"
#include "collective/slices.h"
#include "collective/stopwatch.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cerar {

namespace {

/// In the order of Algorithm.
constexpr std::array<std::string_view, 4> kAlgorithmNames = {"exact", "naive", "coded", "piggyback"};

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

/// The vector as one tensor.
std::vector<std::int64_t> whole(std::span<const float> values) { return {static_cast<std::int64_t>(values.size())}; }

/// The vector's tensors as the caller named them, or itself as one.
std::vector<std::int64_t> tensors(const AllReduceOptions& options, std::span<const float> values) {
  if (options.slice_chunk_values < 1 || options.slices_in_flight < 1) {
    throw std::invalid_argument(fmt::format("slice_chunk_values is {} and slices_in_flight {}; both must be at least 1",
                                            options.slice_chunk_values, options.slices_in_flight));
  }
  if (options.tensor_lengths.empty()) {
    return whole(values);
  }
  std::vector<std::int64_t> lengths(options.tensor_lengths.begin(), options.tensor_lengths.end());
  const std::int64_t sum = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  if (sum != static_cast<std::int64_t>(values.size()) ||
      std::ranges::any_of(lengths, [](std::int64_t length) { return length < 0; })) {
    throw std::invalid_argument(fmt::format(
        "the tensors' lengths add up to {} and the vector holds {} values; they must agree and none be negative", sum,
        values.size()));
  }
  return lengths;
}

std::uint64_t hash_plan(std::span<const Slice> slices, std::int64_t slots) {
  return XXH3_64bits_withSeed(slices.data(), slices.size_bytes(), static_cast<XXH64_hash_t>(slots));
}

}  // namespace

std::string_view name(Algorithm algorithm) noexcept { return kAlgorithmNames[static_cast<std::size_t>(algorithm)]; }

Algorithm algorithm_from_name(std::string_view name) {
  const auto* const found = std::ranges::find(kAlgorithmNames, name);
  if (found == kAlgorithmNames.end()) {
    throw std::invalid_argument(
        fmt::format("no algorithm is called '{}'; choose from {}", name, fmt::join(kAlgorithmNames, ", ")));
  }
  return static_cast<Algorithm>(found - kAlgorithmNames.begin());
}

Algorithm algorithm_of(const RingCode& code) noexcept {
  return std::holds_alternative<Code>(code) ? Algorithm::coded : Algorithm::piggyback;
}

void require_ring_for_wire(const RingCode& code) {
  const auto* shift = std::get_if<Code>(&code);
  if (shift != nullptr && shift->noise.wire != "f32") {
    throw std::invalid_argument(
        fmt::format("the code is for {} words and the coded ring sends float32 words only; fit one with --wire f32",
                    shift->noise.wire));
  }
}

class Communicator::Impl {
 public:
  explicit Impl(CommunicatorOptions options) : options_(std::move(options)) {
    validate(options_);
    code_hash_ = options_.code ? hash(*options_.code) : 0;
    if (options_.size > 1) {
      link_.emplace(options_.rank, options_.size, options_.timeout_seconds, rendezvous(options_));
    }
  }

  ~Impl() {
    if (link_) {
      link_->control().say_goodbye();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void all_reduce(std::span<float> values, const AllReduceOptions& options) {
    const Algorithm own = options_.code ? algorithm_of(*options_.code) : Algorithm::exact;
    const Algorithm algorithm = options.algorithm.value_or(own);
    if (algorithm != own && (algorithm == Algorithm::coded || algorithm == Algorithm::piggyback)) {
      throw std::invalid_argument(fmt::format("the {} all-reduce needs a code of its kind and this communicator has {}",
                                              name(algorithm), options_.code ? "another" : "none"));
    }
    const std::vector<std::int64_t> lengths = tensors(options, values);
    const Stopwatch watch(statistics_.total_seconds);
    const std::int64_t all_reduce = statistics_.all_reduces++;
    if (algorithm != Algorithm::piggyback) {
      require_finite(values, algorithm);
    }
    switch (algorithm) {
      case Algorithm::exact:
        return run(OperationHeader::Kind::all_reduce_exact, values, whole(values), options_.size, options,
                   make_exact_executor);
      case Algorithm::naive:
        return run(OperationHeader::Kind::all_reduce_naive, values, whole(values), 1, options, make_naive_executor);
      case Algorithm::coded:
        return run(OperationHeader::Kind::all_reduce_coded, values, lengths, shape_of(*options_.code).chunks, options,
                   [this](const SliceContext& context) {
                     return make_coded_executor(context, std::get<Code>(*options_.code));
                   });
      case Algorithm::piggyback:
        return piggyback(values, lengths, options, piggyback_sign(static_cast<std::uint64_t>(all_reduce)));
    }
  }

  void piggyback(std::span<float> values, const std::vector<std::int64_t>& lengths, const AllReduceOptions& options,
                 int sign) {
    const auto& code = std::get<PiggybackCode>(*options_.code);
    if (code.is_exact()) {
      require_finite(values, Algorithm::piggyback);
      return run(OperationHeader::Kind::all_reduce_piggyback, values, lengths, options_.size, options,
                 make_exact_executor);
    }
    if (code.is_integer()) {
      return integer_piggyback(code, values, lengths, options, sign);
    }
    const std::vector<Slice> slices = slices_of(values, lengths, code.shape.chunks, options);
    std::vector<float> norms;
    if (code.adapts_scale) {
      const Stopwatch watch(statistics_.encode_seconds);
      norms =
          measure_chunks(values, slices, code.shape.chunks,
                         [](const float* first, std::int64_t count, std::int64_t) { return l1_norm_of(first, count); });
    }
    require_finite(values, norms);
    transfer(
        {.kind = OperationHeader::Kind::all_reduce_piggyback, .values = values.size(), .code_hash = code_hash_}, values,
        slices, options,
        [&](const SliceContext& context) {
          return make_piggyback_executor(context, code, {slices, norms}, sign);
        },
        sizeof(float) * norms.size());
    ++statistics_.operations;
  }

  /// Before the first contribution is rounded, every rank must know how large every other's chunks are.
  void integer_piggyback(const PiggybackCode& code, std::span<float> values, const std::vector<std::int64_t>& lengths,
                         const AllReduceOptions& options, int sign) {
    const std::vector<Slice> slices = slices_of(values, lengths, code.shape.chunks, options);
    std::vector<float> mine;
    {
      const Stopwatch watch(statistics_.encode_seconds);
      mine = measure_chunks(values, slices, code.shape.chunks, chunk_rms);
    }
    require_finite(values, mine);
    std::vector<float> all(static_cast<std::size_t>(options_.size) * mine.size());
    std::ranges::copy(mine, all.begin() + options_.rank * static_cast<std::ptrdiff_t>(mine.size()));
    const std::size_t held_bytes = sizeof(float) * (all.size() + mine.size());
    transfer({.kind = OperationHeader::Kind::piggyback_scales, .values = values.size(), .code_hash = code_hash_}, all,
             slices_of(mine, whole(mine), 1, options), options, make_gather_executor, held_bytes);
    const IntegerPlan plan{slices, all};
    transfer(
        {.kind = OperationHeader::Kind::all_reduce_piggyback, .values = values.size(), .code_hash = code_hash_}, values,
        slices, options,
        [&](const SliceContext& context) { return make_piggyback_integer_executor(context, code, plan, sign); },
        held_bytes);
    ++statistics_.operations;
  }

  void all_gather(std::span<const float> mine, std::span<float> all) {
    const auto size = static_cast<std::size_t>(options_.size);
    if (all.size() != size * mine.size()) {
      throw std::invalid_argument(fmt::format("all_gather of {} values from {} workers needs room for {}, not {}",
                                              mine.size(), size, size * mine.size(), all.size()));
    }
    const Stopwatch watch(statistics_.total_seconds);
    std::ranges::copy(mine, all.begin() + options_.rank * static_cast<std::ptrdiff_t>(mine.size()));
    run(OperationHeader::Kind::all_gather, all, whole(mine), 1, {}, make_gather_executor);
  }

  void barrier() {
    const float mine = 0;
    std::vector<float> all(static_cast<std::size_t>(options_.size));
    all_gather(std::span(&mine, 1), all);
  }

  [[nodiscard]] const CommunicatorOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Statistics& statistics() const noexcept { return statistics_; }

 private:
  /// The piggyback ring has measured all values before: where a norm isn't finite a value may not be.
  void require_finite(std::span<float> values, std::span<const float> norms) {
    if (norms.empty() || first_nonfinite(norms) < norms.size()) {
      require_finite(values, Algorithm::piggyback);
    }
  }

  /// A NaN would spread to every rank's sum without a trace of where it came from.
  void require_finite(std::span<const float> values, Algorithm algorithm) {
    const std::size_t bad = first_nonfinite(values);
    if (bad == values.size()) {
      return;
    }
    const std::string sentence =
        fmt::format("rank {}: value {} of {} is {} in operation {}, all_reduce ({}); a sum with it would be worthless",
                    options_.rank, bad, values.size(), values[bad], statistics_.operations, name(algorithm));
    if (link_) {
      link_->control().require_intact();
      link_->control().fail(sentence);
    }
    throw RingError(sentence);
  }

  /// @param lengths  of the tensors to be cut in slices of `chunks` chunks
  template <class MakeExecutor>
  void run(OperationHeader::Kind kind, std::span<float> values, const std::vector<std::int64_t>& lengths,
           std::int64_t chunks, const AllReduceOptions& options, MakeExecutor make_executor) {
    if (link_) {
      const bool is_coded =
          kind == OperationHeader::Kind::all_reduce_coded || kind == OperationHeader::Kind::all_reduce_piggyback;
      transfer({.kind = kind, .values = values.size(), .code_hash = is_coded ? code_hash_ : 0}, values,
               slices_of(values, lengths, chunks, options), options, make_executor);
    }
    ++statistics_.operations;
  }

  static std::vector<Slice> slices_of(std::span<const float> values, const std::vector<std::int64_t>& lengths,
                                      std::int64_t chunks, const AllReduceOptions& options) {
    // A slice beyond the vector's end would only overflow.
    const std::int64_t most = std::max<std::int64_t>(1, static_cast<std::int64_t>(values.size()));
    return cut_slices(lengths, chunks, std::min(options.slice_chunk_values, most));
  }

  /// One pass of the pipeline: an operation is one or, where the ranks have to agree on something before, two.
  /// @param header      all but the sequence and the plan's hash
  /// @param held_bytes  working memory besides the executors'
  template <class MakeExecutor>
  void transfer(OperationHeader header, std::span<float> values, const std::vector<Slice>& slices,
                const AllReduceOptions& options, MakeExecutor make_executor, std::size_t held_bytes = 0) {
    link_->control().require_intact();
    std::int64_t longest = 0;
    for (const Slice& slice : slices) {
      longest = std::max(longest, slice.chunk_values);
    }
    const auto slots = std::clamp<std::int64_t>(static_cast<std::int64_t>(slices.size()), 1, options.slices_in_flight);
    std::vector<std::unique_ptr<SliceExecutor>> executors;
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      executors.push_back(make_executor(SliceContext{options_.rank, options_.size, values, longest, statistics_}));
    }
    header.sequence = static_cast<std::uint64_t>(statistics_.operations);
    header.plan_hash = hash_plan(slices, options.slices_in_flight);
    try {
      run_pipeline(*link_, options_.rank, header, slices, executors, statistics_);
    } catch (const std::overflow_error& error) {
      link_->control().fail(fmt::format("rank {}: {}, {}", options_.rank, to_string(header), error.what()));
    }
    auto memory = static_cast<std::int64_t>(slices.capacity() * sizeof(Slice) + held_bytes);
    for (const auto& executor : executors) {
      memory += executor->memory_bytes();
    }
    statistics_.extra_memory_bytes = std::max(statistics_.extra_memory_bytes, memory);
  }

  CommunicatorOptions options_;
  std::uint64_t code_hash_ = 0;
  std::optional<RingLink> link_;
  Statistics statistics_;
};

Communicator::Communicator(CommunicatorOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;

std::int64_t Communicator::rank() const noexcept { return impl_->options().rank; }
std::int64_t Communicator::size() const noexcept { return impl_->options().size; }
const std::optional<RingCode>& Communicator::code() const noexcept { return impl_->options().code; }
const Statistics& Communicator::statistics() const noexcept { return impl_->statistics(); }

void Communicator::all_reduce(std::span<float> values, const AllReduceOptions& options) {
  impl_->all_reduce(values, options);
}

void Communicator::all_gather(std::span<const float> mine, std::span<float> all) { impl_->all_gather(mine, all); }

void Communicator::barrier() { impl_->barrier(); }

}  // namespace cerar
