#include "collective/communicator.h"

#include "collective/buckets.h"
#include "collective/operations.h"
#include "collective/progress_thread.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

namespace cerar {

namespace {

/// In the order of Algorithm.
constexpr std::array<std::string_view, 5> kAlgorithmNames = {"exact", "naive", "coded", "piggyback", "doubling"};

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
  explicit Impl(CommunicatorOptions options) : operations_(std::move(options)) {}

  /// For the calling thread: not before what was begun earlier is done.
  Operations& operations() {
    if (thread_) {
      thread_->drain();
    }
    return operations_;
  }
  [[nodiscard]] const Operations& idle_operations() const noexcept { return operations_; }

  ProgressThread& thread() {
    if (!thread_) {
      thread_.emplace(operations_);
    }
    return *thread_;
  }

  Buckets& buckets() noexcept { return buckets_; }

 private:
  Operations operations_;
  Buckets buckets_;
  std::optional<ProgressThread> thread_;
};

void PendingAllReduce::wait() const { thread_->wait(number_); }
bool PendingAllReduce::is_done() const { return thread_->is_done(number_); }

Communicator::Communicator(CommunicatorOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;

std::int64_t Communicator::rank() const noexcept { return impl_->idle_operations().options().rank; }
std::int64_t Communicator::size() const noexcept { return impl_->idle_operations().options().size; }
const std::optional<RingCode>& Communicator::code() const noexcept { return impl_->idle_operations().options().code; }
const Statistics& Communicator::statistics() const noexcept { return impl_->idle_operations().statistics(); }

void Communicator::profile(Profiling profiling) { impl_->operations().recorder().set(profiling); }
void Communicator::reserve_trace(std::size_t events) { impl_->operations().recorder().reserve(events); }
std::vector<TraceEvent> Communicator::trace() const { return impl_->idle_operations().recorder().trace(); }
std::int64_t Communicator::displaced_events() const { return impl_->idle_operations().recorder().displaced(); }

void Communicator::all_reduce(std::span<float> values, const AllReduceOptions& options) {
  impl_->operations().all_reduce(values, options);
}

void Communicator::all_reduce(std::span<const std::span<float>> tensors, const AllReduceOptions& options) {
  impl_->buckets().all_reduce(impl_->operations(), tensors, options);
}

PendingAllReduce Communicator::all_reduce_async(std::span<float> values, const AllReduceOptions& options) {
  impl_->idle_operations().require_valid(values, options);
  ProgressThread& thread = impl_->thread();
  return {thread, thread.submit(values, options)};
}

void Communicator::all_gather(std::span<const float> mine, std::span<float> all) {
  impl_->operations().all_gather(mine, all);
}

void Communicator::barrier() { impl_->operations().barrier(); }

}  // namespace cerar
