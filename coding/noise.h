#pragma once

#include "coding/code.h"
#include "coding/matrix.h"
#include "coding/ring_shape.h"

#include <cmath>
#include <cstdint>

namespace cerar {

/// Where rounding errors are thought to enter (docs/theory.md, "Error and noise model"), independent of one another.
/// Each is eta times the root-mean-square of the result it rounds, or, of integer words, of the largest encoding.
enum class NoiseEntry {
  operations,  ///< every floating-point operation that rounds: encoding, adding, removing, and decoding's products
  hops,        ///< every transmission once, eta ||s_{i,t}||; local arithmetic is exact
  quantised,   ///< every encoding once, all with one step: eta max ||delta||; sums and decoding are exact
  kept,        ///< every kept vector once, eta ||kept_m||, uncorrelated; for codes whose messages all have one norm
};

/// Multiplying by such a coefficient does not round.
template <class Scalar>
[[nodiscard]] bool is_power_of_two(const Scalar& u) {
  using std::abs;
  using std::frexp;
  int exponent = 0;
  return abs(frexp(u, &exponent)) == Scalar(0.5);
}

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
/// @param received  M_i, see received_matrix; the decoder's own rounding (`operations`) and `kept` depend on it
/// @return rows x kept
[[nodiscard]] Eigen::MatrixXd noise_factor(const NoiseSources& sources, const Eigen::MatrixXd& received,
                                           Decoder decoder, std::int64_t worker, std::int64_t first_kept_round,
                                           const NoiseModel& noise, NoiseEntry entry);

/// Variance of the rounding of sum_k u_k x_k (eq. 1) in units of eta^2, the x_k independent and of unit variance: a
/// product rounds unless its coefficient is a power of two, and so does every addition after the first product.
template <class Scalar>
[[nodiscard]] Scalar encoding_variance(const Vector<Scalar>& coefficients) {
  Scalar variance(0);
  Scalar sum(0);
  for (const Scalar& u : coefficients) {
    if (u == Scalar(0)) {
      continue;
    }
    const Scalar square = u * u;
    variance += is_power_of_two(u) ? Scalar(0) : square;
    variance += sum > Scalar(0) ? Scalar(sum + square) : Scalar(0);
    sum += square;
  }
  return variance;
}

/// Its derivative by the coefficients, as long as none becomes or ceases to be zero or a power of two.
template <class Scalar>
[[nodiscard]] Vector<Scalar> encoding_variance_gradient(const Vector<Scalar>& coefficients) {
  Vector<Scalar> gradient = Vector<Scalar>::Zero(coefficients.size());
  Scalar later(0);  // additions from this coefficient's on
  Eigen::Index first = 0;
  while (first < coefficients.size() && coefficients(first) == Scalar(0)) {
    ++first;
  }
  for (Eigen::Index k = coefficients.size() - 1; k >= 0; --k) {
    if (coefficients(k) != Scalar(0)) {
      later += k > first ? Scalar(1) : Scalar(0);
      const Scalar product = is_power_of_two(coefficients(k)) ? Scalar(0) : Scalar(1);
      gradient(k) = Scalar(2) * coefficients(k) * (product + later);
    }
  }
  return gradient;
}

}  // namespace cerar
