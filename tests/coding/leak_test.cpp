#include "coding/reference.h"
#include "coding/simulation.h"
#include "optimize/fit.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <functional>

namespace cerar {
namespace {

/// Relative error of worker 0's sum over the entries that `in_layer` picks.
double layer_error(const Matrices<float>& gradients, const Matrix<float>& result,
                   const std::function<bool(Eigen::Index, Eigen::Index)>& in_layer) {
  double off = 0;
  double size = 0;
  for (Eigen::Index column = 0; column < result.cols(); ++column) {
    for (Eigen::Index row = 0; row < result.rows(); ++row) {
      if (in_layer(row, column)) {
        double sum = 0;
        for (const Matrix<float>& gradient : gradients) {
          sum += static_cast<double>(gradient(row, column));
        }
        off += std::pow(static_cast<double>(result(row, column)) - sum, 2);
        size += sum * sum;
      }
    }
  }
  return std::sqrt(off / size);
}

/// Error of the small one of two layers of equal length, the other `ratio` times larger, when both are cut in chunks
/// together.
double small_layer_error(const Code& code, float ratio, const std::function<bool(Eigen::Index, Eigen::Index)>& small) {
  Matrices<float> gradients = random_gradients<float>(code.shape, 2000, 0, 8);
  for (Matrix<float>& gradient : gradients) {
    for (Eigen::Index column = 0; column < gradient.cols(); ++column) {
      for (Eigen::Index row = 0; row < gradient.rows(); ++row) {
        gradient(row, column) *= small(row, column) ? 1.0F : ratio;
      }
    }
  }
  return layer_error(gradients, reference_all_reduce<float>(code, gradients)[0], small);
}

TEST_CASE("layers leak into each other through the chunks of a chain, and not if each has its own slices") {
  for (const char* construction : {"overlapped", "cyclic"}) {
    FitProblem problem;
    problem.shape = {4, 12};
    problem.construction = construction;
    const Code code = fit(problem).code;
    // Contiguous chunks of one long vector: the second layer is chunks 6 .. 11. Interleaved: half of every chunk.
    const auto contiguous = [](Eigen::Index, Eigen::Index column) { return column >= 6; };
    const auto interleaved = [](Eigen::Index row, Eigen::Index) { return row >= 1000; };
    const double alone = small_layer_error(code, 1, contiguous);
    const double hundred = small_layer_error(code, 100, contiguous);
    const double ten_thousand = small_layer_error(code, 1e4F, contiguous);
    const double sliced = small_layer_error(code, 1e4F, interleaved);
    MESSAGE(
        fmt::format("{} (4, 12), smaller of two layers: alone {:.4f} %, other 100 times larger {:.4f} %, 10000 times "
                    "{:.4f} %; with slices of its own {:.4f} %",
                    construction, 100 * alone, 100 * hundred, 100 * ten_thousand, 100 * sliced));
    CHECK(hundred > 20 * alone);
    CHECK(ten_thousand > 2000 * alone);
    CHECK(sliced < 1.2 * code.predicted_relative_error);
  }
}

}  // namespace
}  // namespace cerar
