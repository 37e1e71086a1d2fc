#pragma once

#include "coding/code.h"
#include "coding/matrix.h"
#include "coding/ring_shape.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace cerar {

/// The round in which column `column` of what a worker keeps was received; the paper's column 0, s_{i,N}, counts as
/// round N - 1, after which it was formed.
[[nodiscard]] constexpr std::int64_t kept_round(std::int64_t first_kept_round, std::int64_t column) noexcept {
  return first_kept_round + column;
}

/// M_i: what worker `worker` keeps, as linear combinations of all workers' chunks (docs/theory.md, eq. 6). Row block w
/// (rows w c .. w c + c - 1) holds the coefficients of worker w's chunks.
///
/// Own-exact: column m is o_{i,f+m}, and the block of `worker` itself is zero because its own contribution has been
/// removed. Paper: column 0 is s_{i,N} and column m > 0 is r_{i,N-1+m}, own contribution inside.
///
/// @param encoders  U_0 .. U_{N-1}, each L x c
/// @param worker    i in [0, N)
/// @param first_kept_round  f in [1, max(1, N - 1)]; the paper's decoder has max(1, N - 1)
/// @return (N c) x (L - f + 1)
/// @throws std::invalid_argument if a shape or a range is wrong
template <class Scalar>
[[nodiscard]] Matrix<Scalar> received_matrix(const Matrices<Scalar>& encoders, Decoder decoder, std::int64_t worker,
                                             std::int64_t first_kept_round) {
  const auto workers = static_cast<std::int64_t>(encoders.size());
  if (workers == 0 || worker < 0 || worker >= workers) {
    throw std::invalid_argument("worker is " + std::to_string(worker) + "; there are " + std::to_string(workers));
  }
  const std::int64_t chunks = encoders.front().cols();
  const std::int64_t rounds = encoders.front().rows();
  const std::int64_t full = std::max<std::int64_t>(1, workers - 1);
  if (first_kept_round < (decoder == Decoder::paper ? full : 1) || first_kept_round > full) {
    throw std::invalid_argument("first_kept_round is " + std::to_string(first_kept_round) + "; at most " +
                                std::to_string(full) + " is possible, and the paper's decoder has just that");
  }
  Matrix<Scalar> received =
      Matrix<Scalar>::Zero(workers * chunks, std::max<std::int64_t>(0, rounds - first_kept_round + 1));
  // s_{j,t} = sum_{k=0}^{min(t,N)-1} delta_{j-k, t-k} (eq. 2): worker j - k joined the sum k hops ago.
  const auto add_sum = [&](Eigen::Index column, std::int64_t from, std::int64_t round, std::int64_t terms) {
    for (std::int64_t k = 0; k < std::min(round, terms); ++k) {
      const std::int64_t w = wrap(from - k, workers);
      received.col(column).segment(w * chunks, chunks) +=
          encoders[static_cast<std::size_t>(w)].row(round - k - 1).transpose();
    }
  };
  for (Eigen::Index column = 0; column < received.cols(); ++column) {
    const std::int64_t round = kept_round(first_kept_round, column);
    if (decoder == Decoder::own_exact) {
      add_sum(column, worker - 1, round,
              workers - 1);  // o_{i,t} is r_{i,t} = s_{i-1,t} without the oldest term, its own
    } else if (column == 0) {
      add_sum(column, worker, round + 1, workers);
    } else {
      add_sum(column, worker - 1, round, workers);
    }
  }
  return received;
}

/// What M_i R_i should be (docs/theory.md, eq. 7): the identity in every worker's block; in own-exact form the block of
/// `worker` is zero, its gradient being added as it is.
/// @return (N c) x c
template <class Scalar>
[[nodiscard]] Matrix<Scalar> decoding_target(const RingShape& shape, Decoder decoder, std::int64_t worker) {
  Matrix<Scalar> target = Matrix<Scalar>::Zero(shape.workers * shape.chunks, shape.chunks);
  for (std::int64_t w = 0; w < shape.workers; ++w) {
    if (decoder == Decoder::paper || w != worker) {
      target.middleRows(w * shape.chunks, shape.chunks).setIdentity();
    }
  }
  return target;
}

}  // namespace cerar
