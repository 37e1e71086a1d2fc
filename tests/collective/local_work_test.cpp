// What an all-reduce costs a worker besides the link: its executors run alone, with messages out of memory.
#include "coding/piggyback.h"
#include "collective/kernels.h"
#include "collective/piggyback_kernels.h"
#include "collective/slice_executor.h"
#include "tests/collective/ring_of_processes.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <time.h>
#include <vector>

namespace cerar {

namespace {

constexpr std::int64_t kValues = 1 << 22;
constexpr int kRepetitions = 7;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Processor time in ns per value.
struct LocalWork {
  double measuring = 0;   ///< reading the vector once before: are all values finite, how large are the chunks
  double arithmetic = 0;  ///< between the messages, the copying of messages included

  [[nodiscard]] double sum() const { return measuring + arithmetic; }
};

using MakeExecutor = std::function<std::unique_ptr<SliceExecutor>(const SliceContext&, std::span<const Slice>)>;

/// One operation of rank 0, every message of which is `message`.
double run(std::int64_t workers, std::span<float> values, std::span<const Slice> slices,
           const std::vector<float>& message, const MakeExecutor& make) {
  Statistics statistics;
  Recorder recorder(statistics);
  const AllReduceOptions options;
  std::vector<std::unique_ptr<SliceExecutor>> slots;
  for (std::int64_t slot = 0; slot < options.slices_in_flight; ++slot) {
    slots.push_back(make({0, workers, options.slice_chunk_values, recorder}, slices));
  }
  const double start = processor_seconds();
  for (std::size_t first = 0; first < slices.size(); first += slots.size()) {
    const std::size_t used = std::min(slots.size(), slices.size() - first);
    for (std::size_t slot = 0; slot < used; ++slot) {
      slots[slot]->begin(values, slices[first + slot]);
    }
    for (std::int64_t round = 1; round <= slots.front()->rounds(); ++round) {
      for (std::size_t slot = 0; slot < used; ++slot) {
        const std::span<float> incoming = slots[slot]->incoming(round);
        std::copy_n(message.begin(), incoming.size(), incoming.begin());
        slots[slot]->received(round);
      }
    }
    for (std::size_t slot = 0; slot < used; ++slot) {
      slots[slot]->finish();
    }
  }
  return processor_seconds() - start;
}

/// The least of several repetitions: what the work takes undisturbed.
template <class Measure>
LocalWork least_work(std::int64_t workers, std::int64_t chunks, const std::vector<float>& message,
                     const Measure& measure, const MakeExecutor& make) {
  const std::vector<float> input = testing::gradient_of(0, kValues, 1);
  const std::vector<std::int64_t> lengths = {kValues};
  const std::vector<Slice> slices = cut_slices(lengths, chunks, AllReduceOptions{}.slice_chunk_values);
  LocalWork least{1e9, 1e9};
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    std::vector<float> values = input;
    const double start = processor_seconds();
    measure(std::span<const float>(values), std::span<const Slice>(slices));
    const double measuring = processor_seconds() - start;
    const double arithmetic = run(workers, values, slices, message, make);
    least.measuring = std::min(least.measuring, 1e9 * measuring / kValues);
    least.arithmetic = std::min(least.arithmetic, 1e9 * arithmetic / kValues);
  }
  return least;
}

}  // namespace

TEST_CASE("local work of the piggyback ring, against the exact ring's") {
  for (const RingShape& shape : {RingShape{4, 32}, RingShape{8, 64}}) {
    const PiggybackCode code = make_piggyback_code(shape, {.wire = "f32", .eta = 2.53e-8});
    std::vector<float> message =
        testing::gradient_of(1, static_cast<std::size_t>(AllReduceOptions{}.slice_chunk_values) + 4, 1);
    std::fill_n(message.begin(), 4, static_cast<float>(code.d));  // scales and norms that make sense
    std::vector<float> norms;
    PiggybackOperation operation;
    const LocalWork exact = least_work(
        shape.workers, shape.workers, message,
        [](std::span<const float> values, std::span<const Slice>) { CHECK(first_nonfinite(values) == values.size()); },
        [](const SliceContext& context, std::span<const Slice>) { return make_exact_executor(context); });
    const LocalWork piggyback = least_work(
        shape.workers, shape.chunks, message,
        [&](std::span<const float> values, std::span<const Slice> slices) {
          measure_chunks(
              values, slices, shape.chunks,
              [](const float* first, std::int64_t count, std::int64_t) { return l1_norm_of(first, count); }, norms);
        },
        [&](const SliceContext& context, std::span<const Slice> slices) {
          operation = {slices, norms, 1};
          return make_piggyback_executor(context, code, operation);
        });
    MESSAGE(fmt::format("({}, {}), ns per value: exact ring {:.3f} + {:.3f}, piggyback {:.3f} + {:.3f}, ratio {:.2f}",
                        shape.workers, shape.chunks, exact.measuring, exact.arithmetic, piggyback.measuring,
                        piggyback.arithmetic, piggyback.sum() / exact.sum()));
    CHECK(piggyback.sum() < 4 * exact.sum());
  }
}

}  // namespace cerar
