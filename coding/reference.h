#pragma once

#include "coding/code.h"

#include <Eigen/Core>

#include <vector>

namespace cerar {

template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

/// delta_{i,t} = G_i u_{i,t} (docs/theory.md, eq. 1), summed over the chunks in ascending order, without contraction and
/// skipping the chunks whose coefficient is zero: the order every executor keeps, so that float results agree to the bit.
///
/// @param gradient  G_i, p x c
/// @param coefficients  u_{i,t} as Scalar, length c
/// @return length p
template <class Scalar>
[[nodiscard]] Eigen::Matrix<Scalar, Eigen::Dynamic, 1> encode(
    const Matrix<Scalar>& gradient, const Eigen::Matrix<Scalar, Eigen::Dynamic, 1>& coefficients);

/// The protocol exactly as docs/theory.md writes it, one round after the other, all N workers in one process: the readable
/// twin that every executor and kernel is tested against.
///
/// @param gradients  G_0 .. G_{N-1}, each p x c, p >= 0
/// @return ghat_0 .. ghat_{N-1}, each p x c
/// @throws std::invalid_argument if a shape does not fit the code's
template <class Scalar>
[[nodiscard]] std::vector<Matrix<Scalar>> reference_all_reduce(const Code& code,
                                                               const std::vector<Matrix<Scalar>>& gradients);

}  // namespace cerar
