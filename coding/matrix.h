#pragma once

#include <Eigen/Core>

#include <vector>

namespace cerar {

template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

/// One matrix a worker, e.g. U_0 .. U_{N-1}.
template <class Scalar>
using Matrices = std::vector<Matrix<Scalar>>;

/// Every entry of every matrix as a To.
template <class To, class From>
[[nodiscard]] Matrices<To> cast(const Matrices<From>& matrices) {
  Matrices<To> result;
  for (const Matrix<From>& matrix : matrices) {
    result.push_back(matrix.template cast<To>());
  }
  return result;
}

}  // namespace cerar
