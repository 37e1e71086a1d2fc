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

}  // namespace cerar
