#pragma once

#include "coding/matrix.h"
#include "coding/random.h"
#include "coding/ring_shape.h"

#include <boost/math/constants/constants.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace cerar {

/// B and H of the multiplicative perturbation construction: D = I + eps H (paper, section II-B1).
template <class Scalar>
struct Perturbation {
  Matrix<Scalar> base;       ///< B, N x c
  Matrix<Scalar> direction;  ///< H, c x c
};

/// Row m of the stack [B; B D; B D^2; ...] is b_{m mod N} D^{floor(m / N)}.
/// @return the first `rows` rows, each of length c
template <class Scalar>
[[nodiscard]] Matrix<Scalar> perturbation_stack(const Perturbation<Scalar>& perturbation, const Scalar& eps,
                                                std::int64_t rows) {
  const Matrix<Scalar>& base = perturbation.base;
  Matrix<Scalar> stack(rows, base.cols());
  Matrix<Scalar> block = base;
  for (std::int64_t first = 0; first < rows; first += base.rows()) {
    const std::int64_t count = std::min<std::int64_t>(base.rows(), rows - first);
    stack.middleRows(first, count) = block.topRows(count);
    block += eps * (block * perturbation.direction).eval();  // times D
  }
  return stack;
}

/// A_l: rows l .. l + c - 1 of the stack, the window that decoding inverts (docs/theory.md, eq. 18).
/// @param first  l in [0, N)
template <class Scalar>
[[nodiscard]] Matrix<Scalar> window(const Perturbation<Scalar>& perturbation, const Scalar& eps, std::int64_t first) {
  const std::int64_t chunks = perturbation.base.cols();
  return perturbation_stack(perturbation, eps, first + chunks).bottomRows(chunks);
}

/// The multiplicative perturbation construction (docs/theory.md, eq. 14): u_{i,t} is row t - i + N of the stack. (The
/// paper's row t - i times D: one power more everywhere, so that none is negative; decoding takes it out again.)
/// @param rounds  which rows, e.g. 1 .. L
/// @return U_0 .. U_{N-1}, each rounds.size() x c
template <class Scalar>
[[nodiscard]] Matrices<Scalar> perturbation_encoders(const RingShape& shape, const Perturbation<Scalar>& perturbation,
                                                     const Scalar& eps, const std::vector<std::int64_t>& rounds) {
  validate(shape);
  const Matrix<Scalar> stack = perturbation_stack(perturbation, eps, shape.rounds() + shape.workers + 1);
  Matrices<Scalar> encoders;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    Matrix<Scalar> encoder(static_cast<Eigen::Index>(rounds.size()), shape.chunks);
    for (std::size_t row = 0; row < rounds.size(); ++row) {
      encoder.row(static_cast<Eigen::Index>(row)) = stack.row(rounds[row] - worker + shape.workers);
    }
    encoders.push_back(std::move(encoder));
  }
  return encoders;
}

/// The same for rounds 1 .. L: what is sent.
template <class Scalar>
[[nodiscard]] Matrices<Scalar> perturbation_encoders(const RingShape& shape, const Perturbation<Scalar>& perturbation,
                                                     const Scalar& eps) {
  return perturbation_encoders<Scalar>(shape, perturbation, eps, all_rounds(shape));
}

/// B with independent N(0, 1) entries and H diagonal with independent N(0, 1) entries, drawn from `seed`.
template <class Scalar>
[[nodiscard]] Perturbation<Scalar> gaussian_perturbation(const RingShape& shape, std::uint64_t seed) {
  NormalGenerator normal(seed);
  Perturbation<Scalar> perturbation{Matrix<Scalar>(shape.workers, shape.chunks),
                                    Matrix<Scalar>::Zero(shape.chunks, shape.chunks)};
  for (std::int64_t row = 0; row < shape.workers; ++row) {
    for (std::int64_t column = 0; column < shape.chunks; ++column) {
      perturbation.base(row, column) = Scalar(normal());
    }
  }
  for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
    perturbation.direction(chunk, chunk) = Scalar(normal());
  }
  return perturbation;
}

/// A unit vector of R^size on the trigonometric curve of dimension `size`: any `size` of the `count` points, at 2 pi
/// index / count, are independent (a Chebyshev system), hence also any cyclically consecutive ones.
template <class Scalar>
[[nodiscard]] Vector<Scalar> frame_vector(std::int64_t index, std::int64_t count, std::int64_t size) {
  using std::cos;
  using std::sin;
  using std::sqrt;
  const Scalar angle = boost::math::constants::two_pi<Scalar>() * Scalar(index) / Scalar(count);
  Vector<Scalar> vector(size);
  const bool odd = size % 2 == 1;
  if (odd) {
    vector(0) = Scalar(1) / sqrt(Scalar(size));
  }
  for (std::int64_t j = odd ? 1 : 0; j + 1 < size + (odd ? 0 : 1); j += 2) {
    // Frequencies 1, 2, .. for an odd size, 1/2, 3/2, .. for an even one.
    const Scalar frequency = Scalar(j + 1) / Scalar(2);
    vector(j) = sqrt(Scalar(2) / Scalar(size)) * cos(Scalar(frequency * angle));
    vector(j + 1) = sqrt(Scalar(2) / Scalar(size)) * sin(Scalar(frequency * angle));
  }
  return vector;
}

/// The orthogonal shift (docs/theory.md, eq. 15): B holds the first N unit vectors and H shifts by N chunks, so that
/// the limit matrix of the conditioning theorem is orthonormal. With s = c mod N > 0 the last full block is shifted on
/// s chunks by a frame any s cyclically consecutive vectors of which are independent.
template <class Scalar>
[[nodiscard]] Perturbation<Scalar> shift_perturbation(const RingShape& shape) {
  const std::int64_t workers = shape.workers;
  const std::int64_t full = shape.chunks / workers * workers;
  const std::int64_t rest = shape.chunks - full;
  Perturbation<Scalar> perturbation{Matrix<Scalar>::Identity(workers, shape.chunks),
                                    Matrix<Scalar>::Zero(shape.chunks, shape.chunks)};
  for (std::int64_t chunk = 0; chunk + workers < full; ++chunk) {
    perturbation.direction(chunk, chunk + workers) = Scalar(1);
  }
  for (std::int64_t residue = 0; rest > 0 && residue < workers; ++residue) {
    const Vector<Scalar> vector = workers % rest == 0 ? Vector<Scalar>(Vector<Scalar>::Unit(rest, residue % rest))
                                                      : frame_vector<Scalar>(residue, workers, rest);
    perturbation.direction.row(full - workers + residue).tail(rest) = vector.transpose();
  }
  return perturbation;
}

}  // namespace cerar
