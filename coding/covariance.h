#pragma once

#include "coding/code.h"
#include "coding/matrix.h"

#include <Eigen/Cholesky>

#include <cstdint>
#include <filesystem>

namespace cerar {

/// (1 - rho) I + rho 1 1^T, N x N (docs/theory.md, eq. 8).
template <class Scalar>
[[nodiscard]] Matrix<Scalar> uniform_covariance(std::int64_t workers, const Scalar& correlation) {
  Matrix<Scalar> covariance = Matrix<Scalar>::Constant(workers, workers, correlation);
  covariance.diagonal().setConstant(Scalar(1));
  return covariance;
}

/// Throws std::invalid_argument with what is wrong unless `covariance` is N x N, finite, symmetric and positive
/// definite, each by a margin that rounding in double can't bridge.
void validate_covariance(const Eigen::MatrixXd& covariance, std::int64_t workers);

/// Mean off-diagonal entry of C, every worker's scaled to unit variance; 0 for a single worker.
[[nodiscard]] double mean_correlation(const Eigen::MatrixXd& covariance);

/// Reads N lines of N numbers, separated by commas: the covariance between the workers' gradients, in any unit.
/// @throws FileError naming the file and, where there is one, the line, unless it is a covariance of `workers`
/// gradients
[[nodiscard]] Eigen::MatrixXd read_covariance(const std::filesystem::path& path, std::int64_t workers);

/// Writes what read_covariance reads, atomically, with as many digits as it takes to read back the same doubles. The
/// matrix may be singular.
/// @throws FileError
void write_covariance(const Eigen::MatrixXd& covariance, const std::filesystem::path& path);

/// C of the workers' gradients, N x N: the measured one if there is one, otherwise as rho has it.
[[nodiscard]] inline Eigen::MatrixXd worker_covariance(const NoiseModel& noise, std::int64_t workers) {
  return noise.covariance.size() > 0 ? noise.covariance : uniform_covariance<double>(workers, noise.correlation);
}

/// (C (x) I_c) times `blocks`: row block w of the result is the sum of C(w, v) times row block v.
/// @param blocks  (N c) x any
template <class Scalar>
[[nodiscard]] Matrix<Scalar> mix_workers(const Matrix<Scalar>& covariance, const Matrix<Scalar>& blocks) {
  if (covariance.isIdentity(Scalar(0))) {
    return blocks;
  }
  const Eigen::Index chunks = blocks.rows() / covariance.rows();
  Matrix<Scalar> mixed = Matrix<Scalar>::Zero(blocks.rows(), blocks.cols());
  for (Eigen::Index to = 0; to < covariance.rows(); ++to) {
    for (Eigen::Index from = 0; from < covariance.cols(); ++from) {
      if (covariance(to, from) != Scalar(0)) {
        mixed.middleRows(to * chunks, chunks) += covariance(to, from) * blocks.middleRows(from * chunks, chunks);
      }
    }
  }
  return mixed;
}

/// C^{1/2} (x) I_c times `blocks`, C^{1/2} the Cholesky factor S with S^T S = C, so that || correlate(X) ||_F^2 is the
/// expected squared size of the combinations X.
/// @param blocks      (N c) x any
/// @param covariance  N x N, positive definite
template <class Scalar>
[[nodiscard]] Matrix<Scalar> correlate(const Matrix<Scalar>& blocks, const Matrix<Scalar>& covariance) {
  if (covariance.isIdentity(Scalar(0))) {
    return blocks;
  }
  const Matrix<Scalar> root = covariance.llt().matrixU();
  return mix_workers<Scalar>(root, blocks);
}

/// Variance of each column's combination of gradients, x^T (C (x) I) x.
/// @param combinations  (N c) x any
template <class Scalar>
[[nodiscard]] Vector<Scalar> signal_variance(const Matrix<Scalar>& combinations, const Matrix<Scalar>& covariance) {
  return combinations.cwiseProduct(mix_workers<Scalar>(covariance, combinations)).colwise().sum().transpose();
}

}  // namespace cerar
