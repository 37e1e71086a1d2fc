#pragma once

#include "experiments/bench/report_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cerar {

/// One measured time.
struct CostPoint {
  std::int64_t bytes = 0;  ///< of the vector
  double rounds = 0;       ///< L, exchanges that follow each other
  double sent_bytes = 0;   ///< by a rank
  double seconds = 0;      ///< measured
  double fitted = 0;       ///< alpha rounds + beta sent_bytes
};

/// T = alpha L + beta b: latency a round and time a byte of one algorithm, from all its sizes and numbers of workers.
struct CostFit {
  std::string algorithm;
  double alpha_seconds = 0;
  double beta_seconds_per_byte = 0;
  double rms = 0;  ///< root of the mean square of fitted / measured - 1
  std::vector<CostPoint> points;
};

/// Least squares of the relative deviations, alpha and beta >= 0, one fit an algorithm, in order of first appearance.
/// "auto" and rows that sent nothing are left out, as are algorithms with fewer than two different points.
[[nodiscard]] std::vector<CostFit> fit_costs(const std::vector<bench::BenchReport>& reports);

[[nodiscard]] std::string cost_table(const std::vector<CostFit>& fits);

}  // namespace cerar
