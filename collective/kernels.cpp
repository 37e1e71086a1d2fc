#include "collective/kernels.h"

#include "collective/vectorised.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace cerar {

namespace {

/// 16 floats, in as many registers as the instruction set needs.
using Lanes [[gnu::vector_size(64)]] = float;
constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(float);
/// Registers' worth of values that are worked on at a time: enough for additions to overlap, few enough to stay in
/// registers while the terms pass by.
constexpr std::size_t kRegisters = 8;
constexpr std::size_t kBlock = kRegisters * kLanes;

// Memory may be aligned to nothing but a float. By reference: how such vectors are passed by value depends on the
// instruction set.
[[gnu::always_inline]] inline void load(const float* from, Lanes& lanes) { std::memcpy(&lanes, from, sizeof lanes); }
[[gnu::always_inline]] inline void store(const Lanes& lanes, float* to) { std::memcpy(to, &lanes, sizeof lanes); }

/// One output at x .. x + kBlock. Inlined, so that every clone has it in its own instructions.
template <bool Onto>
[[gnu::always_inline]] inline void sum_block(std::span<const LinearMap::Term> terms, Vectors<const float> in,
                                             std::size_t x, float* out) {
  Lanes sum[kRegisters];
  Lanes lanes;
  const float* vector = in[terms[0].input] + x;
  for (std::size_t k = 0; k < kRegisters; ++k) {
    load(vector + k * kLanes, lanes);
    sum[k] = terms[0].coefficient * lanes;
  }
  for (std::size_t term = 1; term < terms.size(); ++term) {
    vector = in[terms[term].input] + x;
    for (std::size_t k = 0; k < kRegisters; ++k) {
      load(vector + k * kLanes, lanes);
      sum[k] += terms[term].coefficient * lanes;
    }
  }
  for (std::size_t k = 0; k < kRegisters; ++k) {
    if (Onto) {
      load(out + k * kLanes, lanes);
      sum[k] = lanes + sum[k];
    }
    store(sum[k], out + k * kLanes);
  }
}

template <bool Onto>
[[gnu::always_inline]] inline void sum_one(std::span<const LinearMap::Term> terms, Vectors<const float> in,
                                           std::size_t x, float* out) {
  float sum = terms[0].coefficient * in[terms[0].input][x];
  for (const LinearMap::Term& term : terms.subspan(1)) {
    sum += term.coefficient * in[term.input][x];
  }
  *out = Onto ? *out + sum : sum;
}

/// Which outputs of a map are made.
struct Outputs {
  std::size_t first;
  std::size_t end;
};

template <bool Onto>
[[gnu::always_inline]] inline void apply_one_by_one(const LinearMap& map, Outputs outputs, Vectors<const float> in,
                                                    std::size_t first, std::size_t end, Vectors<float> out) {
  for (std::size_t output = outputs.first; output < outputs.end; ++output) {
    const std::span<const LinearMap::Term> terms = map.terms(output);
    for (std::size_t x = first; x < end; ++x) {
      if (!terms.empty()) {
        sum_one<Onto>(terms, in, x, out[output] + x);
      } else if (!Onto) {
        out[output][x] = 0.0F;
      }
    }
  }
}

/// Block by block: a block of all inputs stays in the nearest cache while all outputs are made of it. Blocks begin at a
/// cache line of the inputs: what straddles two is read at half the speed.
template <bool Onto>
[[gnu::always_inline]] inline void apply_blocks(const LinearMap& map, Outputs outputs, Vectors<const float> in,
                                                std::size_t n, Vectors<float> out) {
  std::size_t x = std::min(n, values_to_alignment(in.data));
  apply_one_by_one<Onto>(map, outputs, in, 0, x, out);
  for (; x + kBlock <= n; x += kBlock) {
    for (std::size_t output = outputs.first; output < outputs.end; ++output) {
      const std::span<const LinearMap::Term> terms = map.terms(output);
      if (!terms.empty()) {
        sum_block<Onto>(terms, in, x, out[output] + x);
      } else if (!Onto) {
        std::fill_n(out[output] + x, kBlock, 0.0F);
      }
    }
  }
  apply_one_by_one<Onto>(map, outputs, in, x, n, out);
}

template <bool Removes, bool Keeps, bool Sends>
[[gnu::always_inline]] inline void forward_all(const float* arrived, const float* removed, const float* added,
                                               std::size_t n, float* kept, float* sent) {
  for (std::size_t x = 0; x < n; ++x) {
    const float others = Removes ? arrived[x] - removed[x] : arrived[x];
    if (Keeps) {
      kept[x] = others;
    }
    if (Sends) {
      sent[x] = others + added[x];
    }
  }
}

template <bool Removes>
[[gnu::always_inline]] inline void forward_either(const float* __restrict arrived, const float* __restrict removed,
                                                  const float* __restrict added, std::size_t n, float* __restrict kept,
                                                  float* __restrict sent) {
  if (kept != nullptr && sent != nullptr) {
    forward_all<Removes, true, true>(arrived, removed, added, n, kept, sent);
  } else if (sent != nullptr) {
    forward_all<Removes, false, true>(arrived, removed, added, n, kept, sent);
  } else if (kept != nullptr) {
    forward_all<Removes, true, false>(arrived, removed, added, n, kept, sent);
  }
}

}  // namespace

std::size_t values_to_alignment(const float* vector) noexcept {
  return (kLineValues - reinterpret_cast<std::uintptr_t>(vector) / sizeof(float) % kLineValues) % kLineValues;
}

CERAR_VECTORISED void apply(const LinearMap& map, Vectors<const float> in, std::size_t n, Vectors<float> out) {
  apply_blocks<false>(map, {0, map.outputs()}, in, n, out);
}

CERAR_VECTORISED void apply_row(const LinearMap& map, std::size_t output, Vectors<const float> in, std::size_t n,
                                float* out) {
  apply_blocks<false>(map, {output, output + 1}, in, n, {out, 0});
}

CERAR_VECTORISED void apply_onto(const LinearMap& map, Vectors<const float> in, std::size_t n, Vectors<float> out) {
  apply_blocks<true>(map, {0, map.outputs()}, in, n, out);
}

CERAR_VECTORISED void forward(const float* arrived, const float* removed, const float* added, std::size_t n,
                              float* kept, float* sent) {
  if (removed != nullptr) {
    forward_either<true>(arrived, removed, added, n, kept, sent);
  } else {
    forward_either<false>(arrived, removed, added, n, kept, sent);
  }
}

CERAR_VECTORISED void add(const float* a, const float* b, std::size_t n, float* out) {
  for (std::size_t x = 0; x < n; ++x) {
    out[x] = a[x] + b[x];
  }
}

CERAR_VECTORISED std::size_t first_nonfinite(std::span<const float> values) {
  // 0 x is 0 for a finite x and NaN otherwise: a block is tested without a branch per value. Lanes of their own, since
  // the order of a single sum would have to be kept.
  constexpr std::size_t kTested = 1024;
  std::size_t x = 0;
  for (; x + kTested <= values.size(); x += kTested) {
    float probes[kLanes] = {};
    for (std::size_t k = 0; k < kTested; k += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        probes[lane] += 0.0F * values[x + k + lane];
      }
    }
    float probe = 0;
    for (const float lane : probes) {
      probe += lane;
    }
    if (probe != 0.0F) {
      break;
    }
  }
  while (x < values.size() && std::isfinite(values[x])) {
    ++x;
  }
  return x;
}

}  // namespace cerar
