#pragma once

#include <cstddef>
#include <functional>

namespace cerar {

/// How a study is run: nothing of this changes a result.
struct StudyHooks {
  int threads = 1;                  ///< at least 1
  std::function<bool()> stop = {};  ///< asked between tasks; true ends the study early
  std::function<void(std::size_t done, std::size_t all)> report = {};  ///< told after every finished point
};

}  // namespace cerar
