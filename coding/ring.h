#pragma once

#include "coding/matrix.h"
#include "coding/ring_shape.h"

#include <stdexcept>

namespace cerar {

/// The chain that worker `worker` adds to in round `round`, (t - 1 - i) mod N. A message stays on one chain all the way
/// round, since each hop adds one to both t and i (docs/theory.md, "Chains").
[[nodiscard]] constexpr std::int64_t chain(std::int64_t worker, std::int64_t round, std::int64_t workers) noexcept {
  return wrap(round - 1 - worker, workers);
}

/// The exact ring, c = N: u_{i,t} is the unit vector of chunk (t - 1 - i) mod N, so that every vector on a link is the
/// running sum of one chunk (docs/theory.md, eq. 12).
/// @return U_0 .. U_{N-1}, each (2 N - 2) x N
/// @throws std::invalid_argument unless c = N
template <class Scalar>
[[nodiscard]] Matrices<Scalar> ring_encoders(const RingShape& shape) {
  validate(shape);
  if (shape.chunks != shape.workers) {
    throw std::invalid_argument("the exact ring needs as many chunks as workers; take the overlapped construction");
  }
  Matrices<Scalar> encoders;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    Matrix<Scalar> encoder = Matrix<Scalar>::Zero(shape.rounds(), shape.chunks);
    for (std::int64_t round = 1; round <= shape.rounds(); ++round) {
      encoder(round - 1, chain(worker, round, shape.workers)) = Scalar(1);
    }
    encoders.push_back(std::move(encoder));
  }
  return encoders;
}

}  // namespace cerar
