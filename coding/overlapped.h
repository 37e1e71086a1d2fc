#pragma once

#include "coding/cyclic.h"
#include "coding/matrix.h"
#include "coding/ring.h"
#include "coding/ring_shape.h"

namespace cerar {

/// The overlapped code (docs/theory.md, eq. 17): in rounds 1 .. N every worker adds its first N chunks as the exact
/// ring does (the head); while that ring drains, rounds N+1 .. L carry delta times a cyclic node code of the other c -
/// N chunks (the tail) on the same messages. Floating point keeps the small tail's own precision once the head has been
/// removed.
///
/// @param delta  the tail's scale against the head's
/// @param eps    the tail's node spacing
/// @return U_0 .. U_{N-1}, each L x c; head rows are zero on the tail's chunks and the other way round
template <class Scalar>
[[nodiscard]] Matrices<Scalar> overlapped_encoders(const RingShape& shape, const Scalar& delta, const Scalar& eps) {
  validate(shape);
  const std::int64_t workers = shape.workers;
  const std::int64_t tail = shape.chunks - workers;
  Matrices<Scalar> encoders;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    Matrix<Scalar> encoder = Matrix<Scalar>::Zero(shape.rounds(), shape.chunks);
    for (std::int64_t round = 1; round <= shape.rounds(); ++round) {
      if (round <= workers || tail == 0) {
        encoder(round - 1, chain(worker, round, workers)) = Scalar(1);
      } else {
        encoder.row(round - 1).tail(tail) =
            delta * cyclic_row<Scalar>(workers, tail, eps, worker, round - workers).transpose();
      }
    }
    encoders.push_back(std::move(encoder));
  }
  return encoders;
}

/// The overlapped code with two heads (docs/theory.md, eq. 17b), for c > 3N: the first N chunks set out twice, with
/// opposite signs, and the second time the next N chunks ride along, `second` times smaller; the cyclic node code of
/// the other c - 2N chunks follows in rounds 2N+1 .. L, `delta` times smaller still. What has set out twice cancels in
/// the sum of two passes, so that the second head can be told from the first.
template <class Scalar>
[[nodiscard]] Matrices<Scalar> two_headed_encoders(const RingShape& shape, const Scalar& second, const Scalar& delta,
                                                   const Scalar& eps) {
  validate(shape);
  const std::int64_t workers = shape.workers;
  const std::int64_t tail = shape.chunks - 2 * workers;
  Matrices<Scalar> encoders;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    Matrix<Scalar> encoder = Matrix<Scalar>::Zero(shape.rounds(), shape.chunks);
    for (std::int64_t round = 1; round <= shape.rounds(); ++round) {
      const std::int64_t head = chain(worker, round, workers);
      if (round <= workers) {
        encoder(round - 1, head) = Scalar(-1);
      } else if (round <= 2 * workers) {
        encoder(round - 1, head) = Scalar(1);
        encoder(round - 1, workers + head) = second;
      } else {
        encoder.row(round - 1).tail(tail) =
            second * delta * cyclic_row<Scalar>(workers, tail, eps, worker, round - 2 * workers).transpose();
      }
    }
    encoders.push_back(std::move(encoder));
  }
  return encoders;
}

/// T^worker of the overlapped code: u_{worker,t} = u_{0,t} T^worker, every head and the tail turned as in a code of its
/// own.
/// @param heads  1 or 2
/// @return c x c, orthogonal
template <class Scalar>
[[nodiscard]] Eigen::SparseMatrix<Scalar> overlapped_turn(const RingShape& shape, std::int64_t heads,
                                                          std::int64_t worker) {
  std::vector<Eigen::Triplet<Scalar>> entries;
  std::int64_t first = 0;
  const auto add = [&](std::int64_t chunks) {
    const Eigen::SparseMatrix<Scalar> turn = cyclic_turn<Scalar>(shape.workers, chunks, worker);
    for (Eigen::Index column = 0; column < turn.outerSize(); ++column) {
      for (typename Eigen::SparseMatrix<Scalar>::InnerIterator entry(turn, column); entry; ++entry) {
        entries.emplace_back(first + entry.row(), first + entry.col(), entry.value());
      }
    }
    first += chunks;
  };
  for (std::int64_t head = 0; head < heads; ++head) {
    add(shape.workers);
  }
  if (first < shape.chunks) {
    add(shape.chunks - first);
  }
  Eigen::SparseMatrix<Scalar> turn(shape.chunks, shape.chunks);
  turn.setFromTriplets(entries.begin(), entries.end());
  return turn;
}

}  // namespace cerar
