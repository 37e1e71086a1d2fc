#include "collective/kernels.h"

#include "collective/vectorised.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cerar {

namespace {

/// Values of one block: its running sums stay in registers while the terms pass by.
constexpr std::size_t kBlock = 64;

/// out[0 .. Length) = the terms' combination at x .. x + Length. Inlined, so that every clone has it in its own
/// instructions.
template <std::size_t Length>
[[gnu::always_inline]] inline void sum_terms(std::span<const Term> terms, std::size_t x, float* out) {
  for (std::size_t k = 0; k < Length; ++k) {
    out[k] = terms[0].coefficient * terms[0].vector[x + k];
  }
  for (const Term& term : terms.subspan(1)) {
    for (std::size_t k = 0; k < Length; ++k) {
      out[k] += term.coefficient * term.vector[x + k];
    }
  }
}

}  // namespace

CERAR_VECTORISED void combine(std::span<const Term> terms, std::size_t n, float* out) {
  if (terms.empty()) {
    std::fill_n(out, n, 0.0F);
    return;
  }
  std::array<float, kBlock> sum;
  std::size_t x = 0;
  for (; x + kBlock <= n; x += kBlock) {
    sum_terms<kBlock>(terms, x, sum.data());
    std::copy_n(sum.data(), kBlock, out + x);
  }
  for (; x < n; ++x) {
    sum_terms<1>(terms, x, out + x);
  }
}

CERAR_VECTORISED void combine_onto(const float* own, std::span<const Term> terms, std::size_t n, float* out) {
  if (terms.empty()) {
    std::copy_n(own, n, out);
    return;
  }
  std::array<float, kBlock> sum;
  std::size_t x = 0;
  for (; x + kBlock <= n; x += kBlock) {
    sum_terms<kBlock>(terms, x, sum.data());
    for (std::size_t k = 0; k < kBlock; ++k) {
      out[x + k] = own[x + k] + sum[k];
    }
  }
  for (; x < n; ++x) {
    float rest = 0;
    sum_terms<1>(terms, x, &rest);
    out[x] = own[x] + rest;
  }
}

CERAR_VECTORISED void add(const float* a, const float* b, std::size_t n, float* out) {
  for (std::size_t x = 0; x < n; ++x) {
    out[x] = a[x] + b[x];
  }
}

CERAR_VECTORISED void subtract(const float* a, const float* b, std::size_t n, float* out) {
  for (std::size_t x = 0; x < n; ++x) {
    out[x] = a[x] - b[x];
  }
}

CERAR_VECTORISED std::size_t first_nonfinite(std::span<const float> values) {
  // 0 x is 0 for a finite x and NaN otherwise: a block is tested without a branch per value. Lanes of their own, since
  // the order of a single sum would have to be kept.
  constexpr std::size_t kLanes = 16;
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
