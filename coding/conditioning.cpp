#include "coding/conditioning.h"

#include <fmt/core.h>
#include <lapacke.h>

#include <limits>
#include <stdexcept>

namespace cerar {

Eigen::VectorXd singular_values(const Eigen::MatrixXd& matrix) {
  if (!matrix.allFinite()) {
    throw std::invalid_argument("singular values of a matrix with an entry that is not finite were asked for");
  }
  Eigen::MatrixXd work = matrix;
  Eigen::VectorXd values(std::min(matrix.rows(), matrix.cols()));
  if (values.size() == 0) {
    return values;
  }
  double unused = 0;
  const auto rows = static_cast<lapack_int>(work.rows());
  const auto columns = static_cast<lapack_int>(work.cols());
  const lapack_int info =
      LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', rows, columns, work.data(), rows, values.data(), &unused, 1, &unused, 1);
  if (info != 0) {
    throw std::runtime_error(
        fmt::format("LAPACK's dgesdd failed with info = {} on a {} x {} matrix", info, rows, columns));
  }
  return values;
}

double kappa2(const Eigen::MatrixXd& matrix) {
  const Eigen::VectorXd values = singular_values(matrix);
  if (values.size() == 0) {
    return 1;
  }
  const double smallest = values(values.size() - 1);
  return smallest > 0 ? values(0) / smallest : std::numeric_limits<double>::infinity();
}

}  // namespace cerar
