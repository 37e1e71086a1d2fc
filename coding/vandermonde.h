#pragma once

#include "coding/cyclic.h"
#include "coding/matrix.h"
#include "coding/ring_shape.h"

#include <cmath>

namespace cerar {

/// xi_1 .. xi_c, equispaced in [-1, 1].
template <class Scalar>
[[nodiscard]] Vector<Scalar> vandermonde_nodes(std::int64_t chunks) {
  Vector<Scalar> nodes(chunks);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    nodes(chunk) = node_offset<Scalar>(chunk, chunks);
  }
  return nodes;
}

/// xi_1 .. xi_c, Chebyshev's points of the first kind in (-1, 1), ascending.
template <class Scalar>
[[nodiscard]] Vector<Scalar> chebyshev_nodes(std::int64_t chunks) {
  using std::sin;
  Vector<Scalar> nodes(chunks);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const Scalar angle = boost::math::constants::half_pi<Scalar>() * Scalar(2 * chunk - (chunks - 1)) / Scalar(chunks);
    nodes(chunk) = sin(angle);
  }
  return nodes;
}

/// The Vandermonde construction (paper, section II-B2; docs/theory.md, eq. 13): u_{i,t} = (z_1^{t-i}, ..., z_c^{t-i})
/// with z_j = 1 + tau xi_j. Its error goes to zero with tau, and so does every hope of decoding it in floating point:
/// it exists as theory and for multiprecision.
/// @param nodes  xi, length c
/// @return U_0 .. U_{N-1}, each L x c
template <class Scalar>
[[nodiscard]] Matrices<Scalar> vandermonde_encoders(const RingShape& shape, const Vector<Scalar>& nodes,
                                                    const Scalar& tau) {
  using std::pow;
  validate(shape);
  Matrices<Scalar> encoders;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    Matrix<Scalar> encoder(shape.rounds(), shape.chunks);
    for (std::int64_t round = 1; round <= shape.rounds(); ++round) {
      for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
        const Scalar node = Scalar(1) + tau * nodes(chunk);
        encoder(round - 1, chunk) = pow(node, static_cast<int>(round - worker));
      }
    }
    encoders.push_back(std::move(encoder));
  }
  return encoders;
}

/// The window of unwrapped rows that worker `worker` inverts: row m is (z_1^k, ..., z_c^k), k = N - worker + m, which
/// is what kept vector m of the last c holds of every worker whose index has not wrapped round the ring.
/// @return c x c; its inverse, transposed, is R_i
template <class Scalar>
[[nodiscard]] Matrix<Scalar> vandermonde_window(const RingShape& shape, const Vector<Scalar>& nodes, const Scalar& tau,
                                                std::int64_t worker) {
  using std::pow;
  Matrix<Scalar> window(shape.chunks, shape.chunks);
  for (std::int64_t m = 0; m < shape.chunks; ++m) {
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const Scalar node = Scalar(1) + tau * nodes(chunk);
      window(m, chunk) = pow(node, static_cast<int>(shape.workers - worker + m));
    }
  }
  return window;
}

}  // namespace cerar
