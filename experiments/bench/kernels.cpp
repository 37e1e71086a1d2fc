// What encoding and decoding a slice costs one worker, against OpenBLAS's sgemm of the same shape and against a plain
// addition; nothing but arithmetic on memory that the caches hold. `value_ns` is per gradient value.
//   build/bench_kernels --benchmark_min_time=0.2
#include "collective/kernels.h"

#include "optimize/fit.h"

#include <cblas.h>
#include <fmt/core.h>

#include <benchmark/benchmark.h>
#include <random>
#include <vector>

namespace {

using cerar::LinearMap;
using cerar::RingShape;

constexpr std::size_t kChunkValues = 4080;  // q of AllReduceOptions

std::vector<float> random_values(std::size_t count) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(generator);
  }
  return values;
}

/// A worker's maps as `cerar fit` makes them, or full ones of the same shape.
struct Worker {
  LinearMap encoding;
  LinearMap decoding;
};

Worker worker_of(const cerar::Code& code, bool is_full) {
  const auto& encoder = code.encoders[0];
  const auto& decoder = code.decoders[0];
  const auto entry = [is_full](const Eigen::MatrixXd& matrix, std::size_t row, std::size_t column) {
    return is_full ? 0.1F + 0.01F * static_cast<float>(row + 2 * column)
                   : static_cast<float>(matrix(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)));
  };
  return {{static_cast<std::size_t>(encoder.rows()), static_cast<std::size_t>(encoder.cols()),
           [&](std::size_t round, std::size_t chunk) { return entry(encoder, round, chunk); }},
          {static_cast<std::size_t>(decoder.cols()), static_cast<std::size_t>(decoder.rows()),
           [&](std::size_t chunk, std::size_t m) { return entry(decoder, m, chunk); }}};
}

/// Time of an iteration by the slice's values, as a counter in ns.
void report(benchmark::State& state, std::int64_t values) {
  state.counters["value_ns"] = benchmark::Counter(
      1e-9 * static_cast<double>(values), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void encode_and_decode(benchmark::State& state, const RingShape& shape, const Worker& worker, std::size_t kept) {
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  std::vector<float> slice = random_values(chunks * kChunkValues);
  std::vector<float> deltas(static_cast<std::size_t>(shape.rounds()) * kChunkValues);
  const std::vector<float> received = random_values(kept * kChunkValues);
  for (auto _ : state) {
    apply(worker.encoding, {slice.data(), kChunkValues}, kChunkValues, {deltas.data(), kChunkValues});
    benchmark::ClobberMemory();
    apply_onto(worker.decoding, {received.data(), kChunkValues}, kChunkValues, {slice.data(), kChunkValues});
    benchmark::ClobberMemory();
  }
  report(state, shape.chunks * static_cast<std::int64_t>(kChunkValues));
}

void sgemm(benchmark::State& state, const RingShape& shape, std::size_t kept) {
  const auto chunks = static_cast<int>(shape.chunks);
  const auto rounds = static_cast<int>(shape.rounds());
  const auto n = static_cast<int>(kChunkValues);
  std::vector<float> slice = random_values(static_cast<std::size_t>(chunks) * kChunkValues);
  std::vector<float> deltas(static_cast<std::size_t>(rounds) * kChunkValues);
  const std::vector<float> received = random_values(kept * kChunkValues);
  const std::vector<float> encoder = random_values(static_cast<std::size_t>(rounds * chunks));
  const std::vector<float> decoder = random_values(kept * static_cast<std::size_t>(chunks));
  for (auto _ : state) {
    // Chunks are columns: deltas = slice U^T, slice += received R.
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, rounds, chunks, 1, slice.data(), n, encoder.data(), rounds,
                0, deltas.data(), n);
    benchmark::ClobberMemory();
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, chunks, static_cast<int>(kept), 1e-3F, received.data(), n,
                decoder.data(), static_cast<int>(kept), 1, slice.data(), n);
    benchmark::ClobberMemory();
  }
  report(state, shape.chunks * static_cast<std::int64_t>(kChunkValues));
}

/// The least that can be done with a slice: each value read twice and written once.
void plain_add(benchmark::State& state, const RingShape& shape) {
  const std::size_t values = static_cast<std::size_t>(shape.chunks) * kChunkValues;
  std::vector<float> slice = random_values(values);
  const std::vector<float> other = random_values(values);
  for (auto _ : state) {
    cerar::add(slice.data(), other.data(), values, slice.data());
    benchmark::ClobberMemory();
  }
  report(state, static_cast<std::int64_t>(values));
}

}  // namespace

int main(int argc, char** argv) {
  openblas_set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  for (const RingShape shape : {RingShape{4, 12}, {8, 16}, {8, 20}, {8, 24}, {16, 48}}) {
    const cerar::Code code = cerar::fit({.shape = shape}).code;
    const auto kept = static_cast<std::size_t>(code.kept());
    const std::string name = fmt::format("({},{})", shape.workers, shape.chunks);
    benchmark::RegisterBenchmark(fmt::format("fitted code {}", name).c_str(),
                                 [=, worker = worker_of(code, false)](benchmark::State& state) {
                                   encode_and_decode(state, shape, worker, kept);
                                 });
    benchmark::RegisterBenchmark(fmt::format("full matrices {}", name).c_str(),
                                 [=, worker = worker_of(code, true)](benchmark::State& state) {
                                   encode_and_decode(state, shape, worker, kept);
                                 });
    benchmark::RegisterBenchmark(fmt::format("OpenBLAS sgemm {}", name).c_str(),
                                 [=](benchmark::State& state) { sgemm(state, shape, kept); });
    benchmark::RegisterBenchmark(fmt::format("plain add {}", name).c_str(),
                                 [=](benchmark::State& state) { plain_add(state, shape); });
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
