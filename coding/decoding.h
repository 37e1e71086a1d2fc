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
  std::vector<Eigen::Index> seen(static_cast<std::size_t>(matrix.rows()), -1);  // a column in which the row is nonzero
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
    for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
      if (matrix(row, column) == Scalar(0)) {
        continue;
      }
      Eigen::Index& other = seen[static_cast<std::size_t>(row)];
      if (other >= 0) {
        const Eigen::Index here = root(column);
        const Eigen::Index there = root(other);
        group[static_cast<std::size_t>(std::max(here, there))] = std::min(here, there);
      }
      other = column;
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
  // Which group a row belongs to: that of the columns in which it is nonzero.
  std::vector<Eigen::Index> group_of_row(static_cast<std::size_t>(left.rows()), -1);
  for (Eigen::Index column = 0; column < left.cols(); ++column) {
    for (Eigen::Index row = 0; row < left.rows(); ++row) {
      if (left(row, column) != Scalar(0)) {
        group_of_row[static_cast<std::size_t>(row)] = group[static_cast<std::size_t>(column)];
      }
    }
  }
  struct Part {
    std::vector<Eigen::Index> rows;
    std::vector<Eigen::Index> columns;
    std::vector<Eigen::Index> chunks;
  };
  std::vector<Part> parts(static_cast<std::size_t>(left.cols()));
  for (Eigen::Index column = 0; column < left.cols(); ++column) {
    parts[static_cast<std::size_t>(group[static_cast<std::size_t>(column)])].columns.push_back(column);
  }
  for (Eigen::Index row = 0; row < left.rows(); ++row) {
    if (group_of_row[static_cast<std::size_t>(row)] >= 0) {
      parts[static_cast<std::size_t>(group_of_row[static_cast<std::size_t>(row)])].rows.push_back(row);
    }
  }
  for (Eigen::Index chunk = 0; chunk < right.cols(); ++chunk) {
    for (Eigen::Index row = 0; row < right.rows(); ++row) {
      const Eigen::Index owner = group_of_row[static_cast<std::size_t>(row)];
      if (right(row, chunk) != Scalar(0) && owner >= 0) {
        std::vector<Eigen::Index>& chunks = parts[static_cast<std::size_t>(owner)].chunks;
        if (chunks.empty() || chunks.back() != chunk) {
          chunks.push_back(chunk);
        }
      }
    }
  }
  for (const auto& [rows, columns, chunks] : parts) {
    if (chunks.empty()) {
      continue;  // no group, or vectors that hold nothing that is wanted
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
