#pragma once

#include "optimize/fit.h"

#include <cstdint>

namespace cerar {

/// @throws std::invalid_argument with a sentence for the first argument that is out of its range, or for arguments that
/// exclude each other
void check(const FitProblem& problem, const FitOptions& options);

/// f: as given, otherwise 1 for overlapped codes, whose early messages hold the head unmixed, and N - 1 for all others.
/// @throws std::invalid_argument if the one given cannot be
[[nodiscard]] std::int64_t chosen_first_kept_round(const FitProblem& problem);

}  // namespace cerar
