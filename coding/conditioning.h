#pragma once

#include "coding/matrix.h"

#include <Eigen/SVD>

namespace cerar {

/// Singular values, largest first, by LAPACK without vectors.
/// @throws std::invalid_argument if an entry is not finite (LAPACK may then never return)
[[nodiscard]] Eigen::VectorXd singular_values(const Eigen::MatrixXd& matrix);

/// kappa_2: the largest singular value over the smallest; infinite for a singular matrix, 1 for an empty one. In double
/// anything beyond about 1e16 is rounding: take kappa2_jacobi of a wider scalar there.
[[nodiscard]] double kappa2(const Eigen::MatrixXd& matrix);

/// kappa_2 by one-sided Jacobi rotations, for any scalar.
template <class Scalar>
[[nodiscard]] Scalar kappa2_jacobi(const Matrix<Scalar>& matrix) {
  const Eigen::JacobiSVD<Matrix<Scalar>> svd(matrix);
  return svd.singularValues()(0) / svd.singularValues()(svd.singularValues().size() - 1);
}

}  // namespace cerar
