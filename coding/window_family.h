#pragma once

#include "coding/cyclic.h"
#include "coding/factorisation.h"
#include "coding/matrix.h"
#include "coding/overlapped.h"
#include "coding/perturbation.h"
#include "coding/ring_shape.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cerar {

/// A construction seen through the windows that decoding inverts, as functions of its one parameter eps:
/// A_l(eps) = Delta^-1 Lambda(eps) K_l(eps), Lambda = diag(eps^k) (docs/theory.md, eq. 20).
template <class Scalar>
struct WindowFamily {
  RingShape shape;
  std::vector<std::int64_t> powers;          ///< k, one a row of a window, not decreasing
  std::vector<std::int64_t> stacked_powers;  ///< of the columns of M_i, not decreasing; kept() of them
  Matrix<Scalar> difference;                 ///< Delta, c x c
  Matrix<Scalar> inverse_difference;         ///< Delta^-1
  Scalar direction_norm = 0;                 ///< || H ||: eps is to be below its inverse
  std::function<Matrix<Scalar>(const Scalar& eps, std::int64_t l)> window;  ///< A_l(eps), c x c
  std::function<Matrix<Scalar>(const Scalar& eps, std::int64_t l)> core;    ///< K_l(eps); at eps = 0 its limit
  std::function<Matrices<Scalar>(const Scalar& eps)> encoders;              ///< U_0 .. U_{N-1}
  std::int64_t first_kept_round = 1;                                        ///< f, for M_i
};

/// floor(q / N) for q = 0 .. rows - 1.
[[nodiscard]] inline std::vector<std::int64_t> difference_orders(std::int64_t workers, std::int64_t rows) {
  std::vector<std::int64_t> orders;
  for (std::int64_t row = 0; row < rows; ++row) {
    orders.push_back(difference_order(row, workers));
  }
  return orders;
}

/// Windows of the multiplicative perturbation (eq. 18), decoded from the last c vectors.
/// @throws std::invalid_argument unless B is N x c and H c x c
template <class Scalar>
[[nodiscard]] WindowFamily<Scalar> perturbation_windows(const RingShape& shape,
                                                        const Perturbation<Scalar>& perturbation) {
  validate(shape);
  if (perturbation.base.rows() != shape.workers || perturbation.base.cols() != shape.chunks ||
      perturbation.direction.rows() != shape.chunks || perturbation.direction.cols() != shape.chunks) {
    throw std::invalid_argument("B must be workers x chunks and H chunks x chunks");
  }
  WindowFamily<Scalar> family;
  family.shape = shape;
  family.powers = family.stacked_powers = difference_orders(shape.workers, shape.chunks);
  family.difference = finite_differences<Scalar>(shape.workers, shape.chunks);
  family.inverse_difference = inverse_differences<Scalar>(shape.workers, shape.chunks);
  family.direction_norm = singular_values_jacobi(perturbation.direction)(0);
  family.window = [perturbation](const Scalar& eps, std::int64_t l) { return window(perturbation, eps, l); };
  family.core = [perturbation](const Scalar& eps, std::int64_t l) { return window_core(perturbation, eps, l); };
  family.encoders = [shape, perturbation](const Scalar& eps) {
    return perturbation_encoders(shape, perturbation, eps);
  };
  family.first_kept_round = std::max<std::int64_t>(1, shape.workers - 1);
  return family;
}

/// b S^t T^w for t = first .. first + rows - 1.
/// @return rows x c
template <class Scalar>
[[nodiscard]] Matrix<Scalar> cyclic_rows(const RingShape& shape, const Scalar& eps, std::int64_t worker,
                                         std::int64_t first, std::int64_t rows) {
  Matrix<Scalar> result(rows, shape.chunks);
  for (std::int64_t row = 0; row < rows; ++row) {
    result.row(row) = cyclic_row<Scalar>(shape.workers, shape.chunks, eps, worker, first + row).transpose();
  }
  return result;
}

/// K_l(eps) for c rows of the cyclic node code from t = `first` on: its differences along a residue are powers of
/// (exp(eps H) - I) / eps.
template <class Scalar>
[[nodiscard]] Matrix<Scalar> cyclic_core(const RingShape& shape, const Scalar& eps, std::int64_t worker,
                                         std::int64_t first) {
  const Matrix<Scalar> rows = cyclic_rows(shape, eps, worker, first, std::min(shape.workers, shape.chunks));
  return krylov_rows(rows, cyclic_direction<Scalar>(shape.workers, shape.chunks, eps), shape.chunks);
}

/// Windows of the cyclic node code: rows t = l .. l + c - 1 of b S^t (eq. 16), decoded from the last c vectors.
template <class Scalar>
[[nodiscard]] WindowFamily<Scalar> cyclic_windows(const RingShape& shape) {
  validate(shape);
  WindowFamily<Scalar> family;
  family.shape = shape;
  family.powers = family.stacked_powers = difference_orders(shape.workers, shape.chunks);
  family.difference = finite_differences<Scalar>(shape.workers, shape.chunks);
  family.inverse_difference = inverse_differences<Scalar>(shape.workers, shape.chunks);
  family.direction_norm = Scalar(shape.chunks > shape.workers ? 1 : 0);  // the outermost of two or more offsets
  family.window = [shape](const Scalar& eps, std::int64_t l) { return cyclic_rows(shape, eps, 0, l, shape.chunks); };
  family.core = [shape](const Scalar& eps, std::int64_t l) { return cyclic_core(shape, eps, 0, l); };
  family.encoders = [shape](const Scalar& eps) { return cyclic_encoders(shape, eps); };
  family.first_kept_round = std::max<std::int64_t>(1, shape.workers - 1);
  return family;
}

/// Windows of the overlapped code with delta = eps (docs/theory.md, "The overlapped code's levels"): the first c rows
/// of U_l, N of the head and c - N of the tail, which make up one window of the cyclic code. M_i is the full window.
/// @throws std::invalid_argument if c = N, which has no tail
template <class Scalar>
[[nodiscard]] WindowFamily<Scalar> overlapped_windows(const RingShape& shape) {
  validate(shape);
  const std::int64_t workers = shape.workers;
  const RingShape tail{workers, shape.chunks - workers};
  if (tail.chunks == 0) {
    throw std::invalid_argument(
        "an overlapped code of as many chunks as workers is the exact ring: nothing depends on "
        "eps; take more chunks");
  }
  WindowFamily<Scalar> family;
  family.shape = shape;
  family.powers.assign(static_cast<std::size_t>(workers), 0);
  family.stacked_powers.assign(static_cast<std::size_t>(2 * workers - 2), 0);
  for (const std::int64_t order : difference_orders(workers, tail.chunks)) {
    family.powers.push_back(order + 1);
    family.stacked_powers.push_back(order + 1);
  }
  const auto with_head = [workers](const Matrix<Scalar>& head, const Matrix<Scalar>& below) {
    Matrix<Scalar> whole = Matrix<Scalar>::Zero(workers + below.rows(), workers + below.cols());
    whole.topLeftCorner(workers, workers) = head;
    whole.bottomRightCorner(below.rows(), below.cols()) = below;
    return whole;
  };
  const Matrix<Scalar> identity = Matrix<Scalar>::Identity(workers, workers);
  family.difference = with_head(identity, finite_differences<Scalar>(workers, tail.chunks));
  family.inverse_difference = with_head(identity, inverse_differences<Scalar>(workers, tail.chunks));
  family.direction_norm = Scalar(tail.chunks > workers ? 1 : 0);
  family.encoders = [shape](const Scalar& eps) { return overlapped_encoders<Scalar>(shape, eps, eps); };
  family.window = [shape](const Scalar& eps, std::int64_t l) {
    const Matrices<Scalar> encoders = overlapped_encoders<Scalar>(shape, eps, eps);
    return Matrix<Scalar>(encoders[static_cast<std::size_t>(l)].topRows(shape.chunks));
  };
  family.core = [tail, with_head](const Scalar& eps, std::int64_t l) {
    Matrix<Scalar> head = Matrix<Scalar>::Zero(tail.workers, tail.workers);
    for (std::int64_t round = 1; round <= tail.workers; ++round) {
      head(round - 1, chain(l, round, tail.workers)) = Scalar(1);
    }
    return with_head(head, cyclic_core(tail, eps, l, 1));
  };
  return family;
}

}  // namespace cerar
