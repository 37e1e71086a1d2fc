#pragma once

#include "coding/matrix.h"
#include "coding/ring_shape.h"
#include "optimize/search.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// A construction as the scan sees it: named parameters with their ranges, and U as a function of them.
struct Family {
  std::vector<std::string> parameters;
  std::vector<LogRange> box;  ///< one range a parameter
  std::function<Matrices<double>(const std::vector<double>&)> encoders;
  /// Every worker has the same error, so that one of them stands for all: U_w = U_0 T^w with T orthogonal.
  bool symmetric = false;
  std::uint64_t seed = 0;  ///< what the random matrices were drawn from; 0 if there are none
};

/// @param construction  one of construction_names()
/// @param seed          of `mpc`; the others draw nothing
/// @throws std::invalid_argument for an unknown name, or a shape that the construction cannot have
[[nodiscard]] Family make_family(std::string_view construction, const RingShape& shape, std::uint64_t seed);

/// overlapped, cyclic, mpc, mpc-shift, vandermonde, ring.
[[nodiscard]] const std::vector<std::string_view>& construction_names();

}  // namespace cerar
