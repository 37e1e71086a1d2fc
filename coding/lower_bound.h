#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cerar {

/// The causality floor (docs/theory.md, eq. 26): no linear protocol on a ring has a smaller relative error, root mean
/// square over independent gradient values of one variance, if every worker receives `rounds` vectors of d / c values.
/// A worker h hops away is seen in rounds h .. L only, so that at least c - (L - h + 1) of its c chunks are missed.
/// @return sqrt( sum_{k=0}^{N-2} max(0, c - L + k) / (N c) ), each term at most c
[[nodiscard]] inline double causality_floor(std::int64_t workers, std::int64_t chunks, std::int64_t rounds) {
  std::int64_t missed = 0;
  for (std::int64_t k = 0; k <= workers - 2; ++k) {
    missed += std::clamp<std::int64_t>(chunks - rounds + k, 0, chunks);
  }
  return std::sqrt(static_cast<double>(missed) / static_cast<double>(workers * chunks));
}

}  // namespace cerar
