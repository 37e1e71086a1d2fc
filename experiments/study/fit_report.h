#pragma once

#include "optimize/fit.h"

#include <filesystem>
#include <vector>

namespace cerar {

/// The powers of delta and eps that the singular values of every M_i (`stacked`) or of the first c rows of every U_w
/// are of the order of, largest first, where a theorem says so (docs/theory.md, "Conditioning" and after it): for
/// own-exact codes of the constructions mpc, mpc-shift, cyclic and overlapped, at the parameters of the closed form.
/// Empty otherwise.
[[nodiscard]] std::vector<double> theorem_levels(const Code& code, bool stacked);

/// Throws FileError unless `folder` is new, empty or an earlier report, and can be written: for finding out before a
/// long fit.
void require_report_folder(const std::filesystem::path& folder);

/// Writes what a fit found, with the evidence: code.json; convergence.csv and .png, the error of every descent after
/// each improvement; singular_values.csv and .png, of the first c rows of every U_w and of every M_i, beside the
/// theorem's levels; errors.csv and .png, what every worker's result is off by in every chunk, and blocks.csv, how
/// much of it is whose gradient: the norms of the blocks of M_i R_i - T_i. All files appear when all are finished.
/// @throws FileError if the folder holds other files or cannot be written, Error if gnuplot is missing or fails
void write_fit_report(const FitResult& result, const std::filesystem::path& folder);

}  // namespace cerar
