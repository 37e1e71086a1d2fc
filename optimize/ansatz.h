#pragma once

#include "coding/matrix.h"
#include "coding/perturbation.h"

#include <Eigen/Cholesky>
#include <Eigen/SparseCore>

#include <cstdint>
#include <memory>
#include <vector>

namespace cerar {

/// x = x0 + P y, with P^T H P = I for a block-diagonal Hessian H: in y the error for fixed R is a sphere, so that a
/// descent sees directions whose effects differ by kappa_2 at one scale.
class Preconditioner {
 public:
  /// @param entries    of x that belong together
  /// @param curvature  their block of H, positive semidefinite
  void add_block(std::vector<Eigen::Index> entries, const Eigen::MatrixXd& curvature);

  [[nodiscard]] Eigen::VectorXd step(const Eigen::VectorXd& y) const;              ///< P y
  [[nodiscard]] Eigen::VectorXd pull_back(const Eigen::VectorXd& gradient) const;  ///< P^T times a gradient by x

 private:
  struct Block {
    std::vector<Eigen::Index> entries;
    Eigen::MatrixXd curvature;
    std::shared_ptr<const Eigen::LLT<Eigen::MatrixXd>> cholesky;
  };
  std::vector<Block> blocks_;
};

/// U as a function of free numbers x.
class Ansatz {
 public:
  Ansatz() = default;
  Ansatz(const Ansatz&) = delete;
  Ansatz& operator=(const Ansatz&) = delete;
  virtual ~Ansatz() = default;

  /// The x that the ansatz was made from.
  [[nodiscard]] const Eigen::VectorXd& start() const noexcept { return start_; }
  /// U_0 .. U_{N-1}.
  [[nodiscard]] virtual Matrices<double> encoders(const Eigen::VectorXd& x) const = 0;
  /// The gradient by x, given the one by U (ErrorModel::rows() x c each).
  [[nodiscard]] virtual Eigen::VectorXd pull_back(const Eigen::VectorXd& x, const Matrices<double>& gradient) const = 0;
  /// @param curvature  at x, as Objective::Evaluation has it
  [[nodiscard]] virtual Preconditioner preconditioner(const Eigen::VectorXd& x,
                                                      const Matrices<double>& curvature) const = 0;

 protected:
  Eigen::VectorXd start_;
};

/// U_w = X T^w: every worker is worker 0 turned, so that all of them have one error. x holds the entries of X that may
/// be nonzero: all of them, or where N divides c those of the row's own chain.
/// @param encoders  U_0 is the X to start from
/// @param turns     T^0 .. T^{N-1}, c x c, orthogonal
[[nodiscard]] std::unique_ptr<Ansatz> make_turned_ansatz(const Matrices<double>& encoders,
                                                         std::vector<Eigen::SparseMatrix<double>> turns);

/// Every entry of every U_w on its own; where N divides c, only those of the row's own chain.
[[nodiscard]] std::unique_ptr<Ansatz> make_free_ansatz(const Matrices<double>& encoders);

/// Multiplicative perturbation: x holds the entries of B and of E = D - I = eps H. Where E is diagonal it stays so;
/// otherwise, where N divides c and neither ties chains together, they stay apart.
/// @param rounds  the rows of each U_w, as perturbation_encoders has them
[[nodiscard]] std::unique_ptr<Ansatz> make_perturbation_ansatz(const Perturbation<double>& perturbation,
                                                               const std::vector<std::int64_t>& rounds);

}  // namespace cerar
