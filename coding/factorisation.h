#pragma once

#include "coding/conditioning.h"
#include "coding/matrix.h"
#include "coding/perturbation.h"

#include <Eigen/QR>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cerar {

/// k of row q of a window: it is the k-th row of its residue modulo N, so that Lambda = diag(eps^k) (docs/theory.md,
/// eq. 20). The same for every window.
[[nodiscard]] constexpr std::int64_t difference_order(std::int64_t row, std::int64_t workers) noexcept {
  return row / workers;
}

/// Delta or its inverse: row q holds (-1)^{k-j} binom(k, j), without the sign in the inverse, in column (q mod N) + j
/// N.
template <class Scalar>
[[nodiscard]] Matrix<Scalar> binomial_matrix(std::int64_t workers, std::int64_t rows, bool alternating) {
  Matrix<Scalar> matrix = Matrix<Scalar>::Zero(rows, rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t order = difference_order(row, workers);
    Scalar binomial(1);
    for (std::int64_t j = 0; j <= order; ++j) {
      matrix(row, row % workers + j * workers) = alternating && (order - j) % 2 == 1 ? Scalar(-binomial) : binomial;
      binomial = binomial * Scalar(order - j) / Scalar(j + 1);
    }
  }
  return matrix;
}

/// Delta: finite differences along each residue's rows, unimodular and lower triangular (docs/theory.md, eq. 20).
/// @return rows x rows
template <class Scalar>
[[nodiscard]] Matrix<Scalar> finite_differences(std::int64_t workers, std::int64_t rows) {
  return binomial_matrix<Scalar>(workers, rows, true);
}

/// Delta^-1: Pascal's triangle along each residue's rows.
template <class Scalar>
[[nodiscard]] Matrix<Scalar> inverse_differences(std::int64_t workers, std::int64_t rows) {
  return binomial_matrix<Scalar>(workers, rows, false);
}

/// Row q is a_{q mod N} H^{floor(q / N)}, a_0 .. a_{N-1} being `first_rows`: what is left of a window once differences
/// have taken the powers of eps out of it.
/// @param first_rows  N x c, or fewer rows if `rows` < N
template <class Scalar>
[[nodiscard]] Matrix<Scalar> krylov_rows(const Matrix<Scalar>& first_rows, const Matrix<Scalar>& direction,
                                         std::int64_t rows) {
  const std::int64_t workers = first_rows.rows();
  Matrix<Scalar> result(rows, first_rows.cols());
  Matrix<Scalar> block = first_rows;
  for (std::int64_t first = 0; first < rows; first += workers) {
    const std::int64_t count = std::min(workers, rows - first);
    result.middleRows(first, count) = block.topRows(count);
    block = (block * direction).eval();
  }
  return result;
}

/// K_l(eps) of a multiplicative perturbation: A_l = Delta^-1 Lambda K_l with rows b_r D^{a_r} H^k (docs/theory.md,
/// eq. 20). With eps = 0 it is K^(l)(B, H), the limit that the theorem assumes to be nonsingular.
/// @param first  l in [0, N)
/// @return c x c
template <class Scalar>
[[nodiscard]] Matrix<Scalar> window_core(const Perturbation<Scalar>& perturbation, const Scalar& eps,
                                         std::int64_t first) {
  const std::int64_t workers = perturbation.base.rows();
  const Matrix<Scalar> rows = perturbation_stack(perturbation, eps, first + workers).bottomRows(workers);
  return krylov_rows(rows, perturbation.direction, perturbation.base.cols());
}

/// Two-sided bounds on the singular values of Delta^-1 Lambda K (docs/theory.md, eq. 21): the one that belongs to eps^k
/// lies in [lower eps^k, upper eps^k].
template <class Scalar>
struct LevelBounds {
  Scalar lower = 0;  ///< sigma_min(K) / || Delta ||
  Scalar upper = 0;  ///< || Delta^-1 || || K ||
};

/// @param core_values  singular values of K, largest first
template <class Scalar>
[[nodiscard]] LevelBounds<Scalar> level_bounds(const Vector<Scalar>& core_values, const Scalar& difference_norm,
                                               const Scalar& inverse_norm) {
  return {core_values(core_values.size() - 1) / difference_norm, inverse_norm * core_values(0)};
}

/// The constants that the singular values of Delta^-1 Lambda(eps) K tend to once divided by their power of eps
/// (docs/theory.md, eq. 22): for each power j those of R_jj L_jj, where Delta^-1 = Q R, K = L V with orthogonal Q, V.
///
/// @param inverse  Delta^-1
/// @param powers   of eps in Lambda, one a row, not decreasing
/// @param core     K at eps = 0
/// @return one constant a row; within a power largest first
template <class Scalar>
[[nodiscard]] Vector<Scalar> level_constants(const Matrix<Scalar>& inverse, const std::vector<std::int64_t>& powers,
                                             const Matrix<Scalar>& core) {
  const Eigen::HouseholderQR<Matrix<Scalar>> left(inverse);
  const Eigen::HouseholderQR<Matrix<Scalar>> right(core.transpose());
  Vector<Scalar> constants(core.rows());
  for (Eigen::Index first = 0; first < core.rows();) {
    const auto begin = powers.begin() + first;
    const Eigen::Index count = std::upper_bound(begin, powers.end(), *begin) - begin;
    const Matrix<Scalar> r = left.matrixQR().block(first, first, count, count).template triangularView<Eigen::Upper>();
    const Matrix<Scalar> l = right.matrixQR().block(first, first, count, count).template triangularView<Eigen::Upper>();
    constants.segment(first, count) = singular_values_jacobi<Scalar>(r * l.transpose());
    first += count;
  }
  return constants;
}

}  // namespace cerar
