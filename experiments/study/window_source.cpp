#include "experiments/study/window_source.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <stdexcept>

namespace cerar {

const std::vector<std::string_view>& windowed_constructions() {
  static const std::vector<std::string_view> names = {"mpc", "mpc-shift", "cyclic", "overlapped"};
  return names;
}

WindowSource window_source(std::string_view name, const RingShape& shape) {
  validate(shape);
  if (shape.workers < 2) {
    throw std::invalid_argument("workers is 1: one worker has nothing to decode; take at least 2");
  }
  WindowSource source{std::string(name), shape, name == "mpc", "", {}};
  if (name == "mpc") {
    source.family = [shape](std::uint64_t seed) {
      return perturbation_windows<Wide>(shape, gaussian_perturbation<Wide>(shape, seed));
    };
  } else if (name == "mpc-shift") {
    source.family = [shape](std::uint64_t) {
      return perturbation_windows<Wide>(shape, shift_perturbation<Wide>(shape));
    };
  } else if (name == "cyclic") {
    source.family = [shape](std::uint64_t) { return cyclic_windows<Wide>(shape); };
  } else if (name == "overlapped") {
    source.family = [shape](std::uint64_t) { return overlapped_windows<Wide>(shape); };
    if (shape.chunks == shape.workers) {
      throw std::invalid_argument(
          "chunks = workers: an overlapped code is the exact ring then, and nothing depends on eps; take more chunks");
    }
  } else {
    throw std::invalid_argument(
        fmt::format("construction \"{}\" has no windows in powers of eps; those that have are {}", name,
                    fmt::join(windowed_constructions(), ", ")));
  }
  return source;
}

}  // namespace cerar
