#pragma once

#include "coding/covariance.h"
#include "coding/matrix.h"

#include <Eigen/QR>

#include <algorithm>
#include <numeric>
#include <vector>

namespace cerar {

/// Groups of columns that no row ties together: a least-squares problem falls apart into one for each.
/// @return for every column the number of its group, the smallest column in it
template <class Scalar>
[[nodiscard]] std::vector<Eigen::Index> independent_columns(const Matrix<Scalar>& matrix) {
  std::vector<Eigen::Index> group(static_cast<std::size_t>(matrix.cols()));
  std::iota(group.begin(), group.end(), 0);
  const auto root = [&](Eigen::Index column) {
    while (group[static_cast<std::size_t>(column)] != column) {
      column = group[static_cast<std::size_t>(column)];
    }
    return column;
  };
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    Eigen::Index first = -1;
    for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
      if (matrix(row, column) == Scalar(0)) {
        continue;
      }
      if (first < 0) {
        first = root(column);
      } else {
        const Eigen::Index other = root(column);
        group[static_cast<std::size_t>(std::max(first, other))] = std::min(first, other);
        first = std::min(first, other);
      }
    }
  }
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
    group[static_cast<std::size_t>(column)] = root(column);
  }
  return group;
}

template <class Scalar>
struct BestDecoder {
  Matrix<Scalar> decoder;    ///< R, kept x c
  Scalar squared_error = 0;  ///< the minimum that R attains
};

/// argmin_R || C^{1/2} (M R - T) ||_F^2 + || F R ||_F^2 (docs/theory.md, eq. 10), by Householder QR of the stacked
/// matrix: normal equations would square a condition number that reaches 1e9. Chains that share nothing are solved
/// apart, so that R is exactly zero between them.
///
/// @param received  M, (N c) x kept
/// @param noise     F, any x kept; may have no rows
/// @param target    T, (N c) x c
/// @param covariance  C, N x N
template <class Scalar>
[[nodiscard]] BestDecoder<Scalar> optimal_decoder(const Matrix<Scalar>& received, const Matrix<Scalar>& noise,
                                                  const Matrix<Scalar>& target, const Matrix<Scalar>& covariance) {
  Matrix<Scalar> left(received.rows() + noise.rows(), received.cols());
  left << correlate(received, covariance), noise;
  Matrix<Scalar> right = Matrix<Scalar>::Zero(left.rows(), target.cols());
  right.topRows(target.rows()) = correlate(target, covariance);

  Matrix<Scalar> residual = right;
  BestDecoder<Scalar> best{Matrix<Scalar>::Zero(received.cols(), target.cols()), Scalar(0)};
  const std::vector<Eigen::Index> group = independent_columns(left);
  for (Eigen::Index leader = 0; leader < left.cols(); ++leader) {
    std::vector<Eigen::Index> columns;
    for (Eigen::Index column = leader; column < left.cols(); ++column) {
      if (group[static_cast<std::size_t>(column)] == leader) {
        columns.push_back(column);
      }
    }
    std::vector<Eigen::Index> rows;
    for (Eigen::Index row = 0; row < left.rows() && !columns.empty(); ++row) {
      if (!left(row, columns).isZero(Scalar(0))) {
        rows.push_back(row);
      }
    }
    std::vector<Eigen::Index> chunks;
    for (Eigen::Index chunk = 0; chunk < right.cols() && !rows.empty(); ++chunk) {
      if (!right(rows, chunk).isZero(Scalar(0))) {
        chunks.push_back(chunk);
      }
    }
    if (chunks.empty()) {
      continue;  // not a leader, or vectors that hold nothing that is wanted
    }
    const Matrix<Scalar> block = left(rows, columns);
    const Matrix<Scalar> wanted = right(rows, chunks);
    const Eigen::ColPivHouseholderQR<Matrix<Scalar>> qr(block);
    const Matrix<Scalar> solution = qr.solve(wanted);
    best.decoder(columns, chunks) = solution;
    residual(rows, chunks) = wanted - block * solution;
  }
  best.squared_error = residual.squaredNorm();
  return best;
}

}  // namespace cerar
