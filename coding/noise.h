#pragma once

#include "coding/code.h"
#include "coding/matrix.h"
#include "coding/ring_shape.h"

#include <cstdint>

namespace cerar {

/// Where rounding errors are thought to enter (docs/theory.md, "Error and noise model"). Each is eta times the
/// root-mean-square of the result it rounds, independent of all others.
enum class NoiseEntry {
  operations,  ///< every floating-point operation that rounds: encoding, adding, removing, and decoding's products
  hops,        ///< every transmission once, eta ||s_{i,t}||; local arithmetic is exact
  kept,        ///< every kept vector once, eta ||kept_m||, uncorrelated; for codes whose messages all have one norm
};

/// Variances, for gradients of unit variance, of what enters a chain. Entry (i, t - 1) belongs to worker i in round t.
struct NoiseSources {
  RingShape shape;
  Eigen::MatrixXd encoding;  ///< in delta_{i,t}: leaves again with it, since the same bits are removed
  Eigen::MatrixXd adding;    ///< in s_{i,t}: stays in the chain for ever
  Eigen::MatrixXd removing;  ///< in o_{i,t}: stays in the chain for ever
};

/// @param encoders  U_0 .. U_{N-1}
/// @param noise     eta and the gradients' correlation; the wire's name is not looked at
/// @param entry     `kept` has no sources in the chains: all zero
[[nodiscard]] NoiseSources noise_sources(const Matrices<double>& encoders, const NoiseModel& noise, NoiseEntry entry);

/// F_i with covariance Sigma_i = F_i^T F_i of the noise on what worker `worker` keeps (docs/theory.md, eq. 9). Sources
/// that reach the same kept vectors are merged into one row.
///
/// @param received  M_i, see received_matrix; the decoder's own rounding and `kept` depend on it
/// @return rows x kept
[[nodiscard]] Eigen::MatrixXd noise_factor(const NoiseSources& sources, const Eigen::MatrixXd& received,
                                           Decoder decoder, std::int64_t worker, std::int64_t first_kept_round,
                                           const NoiseModel& noise, NoiseEntry entry);

/// Variance of each column's combination of gradients, x^T (C (x) I) x: independent entries of unit variance within a
/// worker, correlation rho between workers at the same place.
/// @param combinations  (N c) x any
[[nodiscard]] Eigen::VectorXd signal_variance(const Eigen::MatrixXd& combinations, const RingShape& shape,
                                              double correlation);

}  // namespace cerar
