#pragma once

#include "experiments/bench/report_file.h"
#include "experiments/simulation/ring_simulation.h"

#include <map>
#include <string>

namespace cerar {

/// What an algorithm's steps cost, by its name. Values sent, not rounds, count: where c is large the same costs hold.
using WorkByAlgorithm = std::map<std::string, SimulatedWork>;

/// What was measured on one core of an AVX-512 server with ranks in network namespaces (docs/simulation.md has the
/// command): for predictions where nothing of one's own is at hand.
[[nodiscard]] const WorkByAlgorithm& usual_work();

/// From the profile of each algorithm's largest vector, the mean of the ranks; algorithms without a profile are left
/// out.
[[nodiscard]] WorkByAlgorithm work_of(const bench::BenchReport& report);

}  // namespace cerar
