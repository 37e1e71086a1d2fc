#pragma once

#include "coding/code.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// What a code is wanted for.
struct FitProblem {
  RingShape shape;
  std::string construction = "overlapped";  ///< one of construction_names() (optimize/family.h)
  Decoder decoder = Decoder::own_exact;
  /// f; nothing: 1, the full window, for `overlapped`, and N - 1, the paper's c vectors, for the others.
  std::optional<std::int64_t> first_kept_round = {};
  std::string wire = "f32";  ///< one of wire_names()
  double correlation = 0;    ///< rho in [0, 1) between the workers' gradients
};

struct FitOptions {
  std::uint64_t seed = 1;  ///< of the random matrices of `mpc`: seeds seed, seed + 1, .. are tried
  int draws = 10;          ///< random matrices tried by `mpc`; the best is kept
};

struct FitResult {
  Code code;
  double phi = 0;        ///< sum_i || M_i R_i - T ||_F^2, of the code as rounded to the wire
  double kappa_max = 0;  ///< the largest kappa_2(M_i)
  int evaluations = 0;   ///< codes that were tried
  double seconds = 0;    ///< of wall clock
};

[[nodiscard]] const std::vector<std::string_view>& wire_names();

/// eta: the rms relative error of rounding one result to the wire's scalar (docs/theory.md, "Error and noise model").
/// @throws std::invalid_argument listing the known names
[[nodiscard]] double wire_eta(std::string_view wire);

/// Finds the construction's free parameters (delta, eps or tau) that minimise the predicted relative error on that
/// wire, by a coarse logarithmic grid and then a pattern search, with the best R eliminated by least squares
/// (docs/theory.md, "Fitting"). U and R are float32 values, so that no executor rounds them again, and entries of R too
/// small to matter are zero, so that no executor multiplies by them. Deterministic for equal arguments.
/// @throws std::invalid_argument with a sentence for every argument that is out of its range
[[nodiscard]] FitResult fit(const FitProblem& problem, const FitOptions& options = {});

}  // namespace cerar
