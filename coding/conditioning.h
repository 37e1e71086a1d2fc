#pragma once

#include "coding/matrix.h"

#include <Eigen/QR>
#include <Eigen/SVD>

namespace cerar {

/// Singular values, largest first, by LAPACK without vectors.
/// @throws std::invalid_argument if an entry is not finite (LAPACK may then never return)
[[nodiscard]] Eigen::VectorXd singular_values(const Eigen::MatrixXd& matrix);

/// kappa_2: the largest singular value over the smallest; infinite for a singular matrix, 1 for an empty one. In double
/// anything beyond about 1e16 is rounding: take kappa2_jacobi of a wider scalar there.
[[nodiscard]] double kappa2(const Eigen::MatrixXd& matrix);

/// Singular values, largest first, by Jacobi rotations, for any scalar. A QR decomposition with column pivoting goes
/// first: rotations then start from a nearly diagonal matrix, which halves their number, and a tall matrix from a
/// square one.
template <class Scalar>
[[nodiscard]] Vector<Scalar> singular_values_jacobi(const Matrix<Scalar>& matrix) {
  if (matrix.rows() < matrix.cols()) {
    return singular_values_jacobi<Scalar>(matrix.transpose());
  }
  const Eigen::ColPivHouseholderQR<Matrix<Scalar>> qr(matrix);
  const Matrix<Scalar> upper = qr.matrixQR().topRows(matrix.cols()).template triangularView<Eigen::Upper>();
  return Eigen::JacobiSVD<Matrix<Scalar>>(upper.transpose()).singularValues();
}

/// kappa_2 by Jacobi rotations, for any scalar.
template <class Scalar>
[[nodiscard]] Scalar kappa2_jacobi(const Matrix<Scalar>& matrix) {
  const Vector<Scalar> values = singular_values_jacobi(matrix);
  return values(0) / values(values.size() - 1);
}

}  // namespace cerar
