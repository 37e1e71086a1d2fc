#pragma once

#include "coding/code.h"
#include "coding/noise.h"
#include "optimize/condition_bound.h"
#include "optimize/objective.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cerar {

/// What a code is wanted for.
struct FitProblem {
  RingShape shape;
  std::string construction = "overlapped";  ///< one of construction_names() (optimize/family.h)
  Decoder decoder = Decoder::own_exact;
  OwnBlock own_block = OwnBlock::exact;  ///< what counts as error; `included` is the paper's Phi
  /// f; nothing: 1, the full window, for `overlapped`, and N - 1, the paper's c vectors, for the others.
  std::optional<std::int64_t> first_kept_round = {};
  std::string wire = "f32";                    ///< one of wire_names() (coding/wire.h)
  std::optional<double> eta = {};              ///< instead of the wire's
  std::optional<NoiseEntry> noise_entry = {};  ///< instead of the wire's
  double correlation = 0;                      ///< rho in [0, 1) between the workers' gradients
  Eigen::MatrixXd covariance = {};             ///< C, N x N, where it was measured; empty: as rho has it
  Bounds bounds = {};
};

/// How far a fit has come.
struct FitProgress {
  std::size_t starts_done = 0;
  std::size_t starts = 0;
  int evaluations = 0;
  double best_error = 0;  ///< relative, of the best code so far; infinite before there is one
};

struct FitOptions {
  std::uint64_t seed = 1;  ///< of the random starts, and of the random matrices of `mpc`: seed, seed + 1, .. are tried
  int draws = 10;          ///< random matrices tried by `mpc`; the best is kept
  bool descend = true;     ///< whether to leave the closed form by gradient descent
  bool free = false;       ///< descend in every U_w on its own, not in one that all workers share
  std::optional<int> starts = {};  ///< of the descent: the closed forms, then random points round them; nothing: as
                                   ///< many as take seconds
  int threads = 1;
  double time_limit = 0;  ///< seconds of wall clock after which the best so far is taken; 0: none
  /// Called now and then, from any thread but never from two at once; returning false ends the fit with the best so
  /// far.
  std::function<bool(const FitProgress&)> progress = {};
};

/// One descent.
struct FitStart {
  std::string from;              ///< e.g. "closed form", "closed form, two heads", "random 3"
  double closed_form_error = 0;  ///< relative, of the point it set out from
  double error = 0;              ///< relative, where it ended
  int evaluations = 0;
  std::vector<double> history;  ///< relative error after each improvement

  /// False for starts that a fit did not get to, and for closed forms that bounds keep out.
  [[nodiscard]] bool begun() const noexcept { return !from.empty(); }
};

struct FitResult {
  Code code;
  double phi = 0;                ///< sum_i || M_i R_i - T ||_F^2, of the code as rounded to the wire
  double kappa_max = 0;          ///< the largest kappa_2(M_i)
  double kappa_window = 0;       ///< the largest kappa_2(U_i)
  int evaluations = 0;           ///< codes that were tried
  double seconds = 0;            ///< of wall clock
  bool interrupted = false;      ///< by the time limit or by `progress`
  std::vector<FitStart> starts;  ///< in the order of their numbers
  std::size_t best_start = 0;
};

/// Finds the code of a construction with the least predicted relative error on that wire (docs/theory.md, "Fitting"):
/// R is eliminated by least squares; the parameters of the closed form (delta, eps or tau) are scanned; then U descends
/// along the gradient from there and from random points round it. What is returned has been rounded as the wire rounds
/// it, and entries of R too small to matter are zero, so that no executor multiplies by them; it carries its predicted
/// error and that of simulations in the wire's arithmetic. Deterministic for equal arguments, whatever the number of
/// threads, unless it is interrupted.
/// @throws std::invalid_argument with a sentence for every argument that is out of its range, or bounds that cannot be
/// met
[[nodiscard]] FitResult fit(const FitProblem& problem, const FitOptions& options = {});

}  // namespace cerar
