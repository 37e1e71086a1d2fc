#pragma once

#include "coding/matrix.h"
#include "coding/ring_shape.h"
#include "experiments/study/log_log_fit.h"
#include "experiments/study/multiprecision.h"
#include "experiments/study/study_hooks.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// xi, the directions in which the nodes z = 1 + tau xi leave 1.
struct VandermondeNodes {
  std::string name;
  bool any_chunks = true;                               ///< else `at` serves one c only
  std::function<Vector<Wide>(std::int64_t chunks)> at;  ///< in the precision of the calling thread
};

/// @param name    equispaced, chebyshev, or a file of c numbers, one a line
/// @param chunks  c
/// @throws FileError naming file and line, if there are not c different numbers
[[nodiscard]] VandermondeNodes vandermonde_nodes_named(const std::string& name, std::int64_t chunks);

struct VandermondeOptions {
  RingShape shape;
  VandermondeNodes nodes;
  std::vector<double> tau;  ///< largest first, at least 3, tau |xi| < 1
};

struct VandermondePoint {
  double tau = 0;
  double phi = 0;           ///< Phi(U, R) with R_i the inverse of worker i's window
  double leading = 0;       ///< N^3 (N-1) / 2 tau^2 sum xi^2
  double remainder = 0;     ///< Phi / leading - 1
  double kappa = 0;         ///< largest kappa_2 of a window
  double kappa_double = 0;  ///< the same as LAPACK finds it in double; may be infinite
};

/// One decoding of random gradients; errors are relative to the true sum, root mean square over the workers.
struct VandermondeDecoding {
  std::int64_t chunks = 0;
  double tau = 0;
  double exact = 0;    ///< with all the digits there are: the code's own error
  double float32 = 0;  ///< infinite where something overflowed
  double float64 = 0;
  double fifty_digits = 0;
};

/// A result is taken for decoded below this relative error.
inline constexpr double kDecoded = 0.1;

struct VandermondeStudy {
  VandermondeOptions options;
  int digits = 0;
  std::vector<VandermondePoint> points;
  std::vector<VandermondeDecoding> map;  ///< every tau and every c from N to that of the shape
  LogLogFit phi;                         ///< of Phi: slope 2
  LogLogFit remainder;                   ///< of |Phi - leading|
  int expected_order = 3;                ///< of the remainder; 4 if sum xi^3 = 0
  double remainder_constant = 0;         ///< Phi / leading - 1 over tau^(order - 2), as theory has it
  LogLogFit kappa;                       ///< slope -(c - 1)
  bool holds = false;
};

/// @return nothing if it was stopped
/// @throws std::invalid_argument for options out of range; Error if double the precision changes a figure
[[nodiscard]] std::optional<VandermondeStudy> study_vandermonde(const VandermondeOptions& options,
                                                                const std::filesystem::path& folder,
                                                                const StudyHooks& hooks);

/// Writes phi.csv, map.csv, summary.json, phi.png and map.png.
void write_vandermonde(const VandermondeStudy& study, const std::filesystem::path& folder);

[[nodiscard]] std::string vandermonde_table(const VandermondeStudy& study);

}  // namespace cerar
