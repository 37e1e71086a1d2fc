#pragma once

#include "experiments/bench/report_file.h"
#include "experiments/simulation/measured_work.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cerar {

struct RingStudyOptions {
  std::vector<std::int64_t> workers = {4, 8, 16, 64, 256, 1024, 4096};
  std::vector<double> rates = {1e8, 1e9, 1e10, 1e11};  ///< of the links, in bits a second
  std::optional<double> slow_rate;                     ///< of the one link from the last rank to rank 0, if it differs
  double latency_seconds = 50e-6;
  std::int64_t mtu = 1500;
  std::int64_t bytes = std::int64_t{64} << 20;  ///< of the vector
  std::int64_t coded_chunks = 3;                ///< c / N of the coded ring
  std::int64_t piggyback_chunks = 8;            ///< c / N of the piggyback ring
  std::int64_t slice_chunk_values = 4080;
  std::int64_t slices_in_flight = 8;
  WorkByAlgorithm work = usual_work();  ///< only algorithms in it are simulated
};

struct RingPoint {
  std::int64_t workers = 0;
  double rate = 0;  ///< bits a second
  std::string algorithm;
  std::int64_t chunks = 0;
  SimulatedTime time;
  double to_exact = 0;  ///< its time over the exact ring's
};

/// Where an algorithm takes as long as the exact ring; slower links make it the faster of the two.
struct BreakEven {
  std::int64_t workers = 0;
  std::string algorithm;
  double rate = 0;  ///< bits a second; 0 if the exact ring is never slower, infinity if it always is
};

struct RingStudy {
  RingStudyOptions options;
  std::vector<RingPoint> points;
  std::vector<BreakEven> break_even;
  std::vector<RingPoint> curve;  ///< coded and piggyback at many rates, for the picture
};

/// Simulates all-reduces for every number of workers and every rate.
/// @throws std::invalid_argument for options out of range
[[nodiscard]] RingStudy study_ring(const RingStudyOptions& options);

[[nodiscard]] std::string ring_table(const RingStudy& study);
/// Writes ring.csv, break_even.csv, summary.json, ring_time.png and ring_ratio.png.
void write_ring(const RingStudy& study, const std::filesystem::path& folder);

/// A measured time beside the simulated one.
struct ValidatedRow {
  std::string algorithm;
  std::int64_t workers = 0;
  std::int64_t bytes = 0;
  double measured_seconds = 0;
  double simulated_seconds = 0;
};

/// Simulates what was measured over links of `rate` bits a second, with the options' latency, MTU and slices.
[[nodiscard]] std::vector<ValidatedRow> validate_ring(const bench::BenchReport& report, double rate,
                                                      const RingStudyOptions& options);
[[nodiscard]] std::string validation_table(const std::vector<ValidatedRow>& rows);

}  // namespace cerar
