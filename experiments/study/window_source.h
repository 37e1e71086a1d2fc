#pragma once

#include "coding/ring_shape.h"
#include "coding/window_family.h"
#include "experiments/study/multiprecision.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// Where a study's windows come from: a construction's name, or matrices of the user's own.
struct WindowSource {
  std::string name;
  RingShape shape;
  bool seeded = false;      ///< whether `family` depends on the seed
  std::string fingerprint;  ///< of the file that matrices of the user's own come from
  /// The construction in the precision of the calling thread.
  std::function<WindowFamily<Wide>(std::uint64_t seed)> family;
};

/// mpc, mpc-shift, cyclic, overlapped: the constructions with windows that are powers of eps apart.
[[nodiscard]] const std::vector<std::string_view>& windowed_constructions();

/// @param name  one of windowed_constructions()
/// @throws std::invalid_argument for another name or a shape it cannot have
[[nodiscard]] WindowSource window_source(std::string_view name, const RingShape& shape);

}  // namespace cerar
