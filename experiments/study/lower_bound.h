#pragma once

#include "coding/ring_shape.h"
#include "experiments/study/study_hooks.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cerar {

struct LowerBoundOptions {
  RingShape shape;
  std::uint64_t seed = 1;
  int protocols = 5;  ///< random protocols for which two gradients are exhibited
  int starts = 8;     ///< random starts of the optimisation of protocols with few rounds
};

/// Two gradients that a worker of a random linear protocol with fewer than d received values cannot tell apart.
struct ConfusionRow {
  std::uint64_t seed = 0;
  std::int64_t received = 0;       ///< values, L p
  std::int64_t dimension = 0;      ///< d
  double received_difference = 0;  ///< relative: rounding
  double sum_distance = 0;         ///< relative to one of the sums
};

/// The floor and the best protocol known here for one number of rounds.
struct FloorRow {
  std::int64_t rounds = 0;
  double rate = 0;   ///< L / c
  double floor = 0;  ///< causality_floor: of any linear protocol
  double error = 0;  ///< of the protocol, relative
  std::string protocol;
  double kappa = 0;  ///< largest kappa_2(M_i); 0 if it has none
};

struct LowerBoundStudy {
  LowerBoundOptions options;
  std::vector<ConfusionRow> confusions;
  std::vector<FloorRow> floors;
  bool holds = false;  ///< every pair is confused, and no protocol is below its floor
};

/// @return nothing if it was stopped
/// @throws std::invalid_argument for options out of range
[[nodiscard]] std::optional<LowerBoundStudy> study_lower_bound(const LowerBoundOptions& options,
                                                               const std::filesystem::path& folder,
                                                               const StudyHooks& hooks);

/// Writes confusions.csv, floor.csv, summary.json and floor.png.
void write_lower_bound(const LowerBoundStudy& study, const std::filesystem::path& folder);

[[nodiscard]] std::string lower_bound_table(const LowerBoundStudy& study);

}  // namespace cerar
