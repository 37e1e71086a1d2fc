#pragma once

#include "coding/ring_shape.h"
#include "experiments/study/study_hooks.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cerar {

struct RatesOptions {
  std::int64_t workers = 8;
  std::int64_t most_chunks = 0;  ///< the largest c; 0: 4 N
  std::string wire = "f32";
  std::string construction = "overlapped";  ///< one of construction_names() but ring
};

/// The best code for one c.
struct RatePoint {
  RingShape shape;
  double predicted = 0;  ///< relative error
  double simulated = 0;  ///< relative error, in the wire's arithmetic
  double kappa = 0;      ///< max_i kappa_2(M_i)
  double seconds = 0;    ///< that the fit took
  bool worth = false;    ///< no other c has both a smaller rate and a smaller simulated error
};

/// A point of the piggyback ring's error law, float32.
struct PiggybackRate {
  RingShape shape;
  double predicted = 0;
};

struct RatesStudy {
  RatesOptions options;                  ///< with what was left empty filled in
  std::vector<RatePoint> points;         ///< c = N, the exact ring, and every c up to the largest
  std::vector<PiggybackRate> piggyback;  ///< c = 2 N, 3 N, ..; empty for other wires
  bool holds = false;                    ///< no simulated error exceeds the predicted one by more than 20 %
};

/// Fits every c from N to the largest, so that one sees which to take: the rate L / c falls with c and the error rises
/// in steps (docs/theory.md, "Fitting"). The codes are written to `folder`/codes/c_<c>.json.
/// @return nothing if it was stopped; finished points are kept in `folder`
/// @throws std::invalid_argument for options out of range
[[nodiscard]] std::optional<RatesStudy> study_rates(const RatesOptions& options, const std::filesystem::path& folder,
                                                    const StudyHooks& hooks);

/// Writes rates.csv, summary.json and rates.png.
void write_rates(const RatesStudy& study, const std::filesystem::path& folder);

[[nodiscard]] std::string rates_table(const RatesStudy& study);

}  // namespace cerar
