#pragma once

#include "collective/communicator.h"

#include <string>
#include <utility>
#include <vector>

namespace cerar {

/// Compares settings between the ranks before they matter: ranks that are started by hand on several hosts can be given
/// different options, and would otherwise train different things or wait for each other.
/// @param settings  name and value; the same names in the same order on every rank
/// @throws Error, the same on every rank, naming the first setting that differs and both values
void require_agreement(Communicator& communicator, const std::vector<std::pair<std::string, double>>& settings);

}  // namespace cerar
