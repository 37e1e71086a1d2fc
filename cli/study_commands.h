#pragma once

#include <CLI/CLI.hpp>

namespace cerar::cli {

/// Each function adds one study to `cerar study`: its options, its help with an example, and what it runs.
void add_study_conditioning(CLI::App& study);
void add_study_cost(CLI::App& study);
void add_study_exponents(CLI::App& study);
void add_study_frontier(CLI::App& study);
void add_study_lower_bound(CLI::App& study);
void add_study_rates(CLI::App& study);
void add_study_ring(CLI::App& study);
void add_study_vandermonde(CLI::App& study);

}  // namespace cerar::cli
