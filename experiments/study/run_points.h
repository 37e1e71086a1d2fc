#pragma once

#include "experiments/study/study_hooks.h"

#include <cstddef>
#include <functional>

namespace cerar {

/// Computes points 0 .. count - 1 of a study in parallel and reports each that is finished.
/// @param point  whether it was finished, rather than stopped on the way
/// @return whether all were finished
bool run_points(std::size_t count, const StudyHooks& hooks, const std::function<bool(std::size_t)>& point);

}  // namespace cerar
