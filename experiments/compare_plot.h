#pragma once

#include "experiments/compare.h"

#include <filesystem>
#include <vector>

namespace cerar {

/// Draws the runs into one PNG: gradient error by step on a logarithmic axis (total and worst layer, with the paper's
/// reported 1.6 to 2.9 % as a band for scale), training loss by step, and bytes on the wire per step.
/// @throws what draw_with_gnuplot throws
void plot_comparison(const std::vector<NamedRun>& runs, const std::filesystem::path& png);

}  // namespace cerar
