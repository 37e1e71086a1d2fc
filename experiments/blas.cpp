#include "experiments/blas.h"

#include "coding/error.h"
#include "experiments/random.h"

#include <cblas.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cerar {
namespace {

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, const float* a, blasint lda,
          const float* b, blasint ldb, float beta, float* c) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1.0F, a, lda, b, ldb, beta, c, n);
}

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, const double* a, blasint lda,
          const double* b, blasint ldb, double beta, double* c) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1.0, a, lda, b, ldb, beta, c, n);
}

std::vector<float> random_matrix(std::int64_t size, std::uint64_t stream) {
  PortableRandom random(0, stream);
  std::vector<float> values(static_cast<std::size_t>(size));
  std::generate(values.begin(), values.end(), [&] { return static_cast<float>(2 * random.uniform() - 1); });
  return values;
}

/// Largest difference from the product by plain loops in double.
double largest_difference(Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::vector<float> a = random_matrix(m * k, 1);
  const std::vector<float> b = random_matrix(k * n, 2);
  std::vector<float> c(static_cast<std::size_t>(m * n), NAN);
  multiply(ta, tb, m, n, k, a.data(), b.data(), 0.0F, c.data());
  double largest = 0;
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const float left = a[static_cast<std::size_t>(ta == Transpose::no ? row * k + i : i * m + row)];
        const float right = b[static_cast<std::size_t>(tb == Transpose::no ? i * n + column : column * k + i)];
        sum += static_cast<double>(left) * static_cast<double>(right);
      }
      const double difference = std::abs(static_cast<double>(c[static_cast<std::size_t>(row * n + column)]) - sum);
      // Written so that a NaN counts as wrong.
      if (!(difference <= largest)) {
        largest = std::isnan(difference) ? INFINITY : difference;
      }
    }
  }
  return largest;
}

}  // namespace

template <class Scalar>
void multiply(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
              const Scalar* a, const Scalar* b, Scalar beta, Scalar* c) {
  const auto rows = static_cast<blasint>(m);
  const auto columns = static_cast<blasint>(n);
  const auto inner = static_cast<blasint>(k);
  gemm(transpose_a == Transpose::no ? CblasNoTrans : CblasTrans,
       transpose_b == Transpose::no ? CblasNoTrans : CblasTrans, rows, columns, inner, a,
       transpose_a == Transpose::no ? inner : rows, b, transpose_b == Transpose::no ? columns : inner, beta, c);
}

template void multiply<float>(Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, const float*,
                              const float*, float, float*);
template void multiply<double>(Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, const double*,
                               const double*, double, double*);

void use_one_blas_thread() { openblas_set_num_threads(1); }

void check_blas() {
  // Sizes that are no multiple of a kernel's tile, so that the edges are checked too. Sums of 150 products below 1:
  // float rounding stays well below 1e-4, a wrong kernel is off by whole numbers.
  constexpr double tolerance = 1e-4;
  double largest = largest_difference(Transpose::no, Transpose::no, 67, 61, 150);
  largest = std::max(largest, largest_difference(Transpose::yes, Transpose::no, 67, 61, 150));
  largest = std::max(largest, largest_difference(Transpose::no, Transpose::yes, 67, 61, 150));
  if (largest > tolerance) {
    throw Error(fmt::format(
        "OpenBLAS multiplies wrongly on this processor (kernels \"{}\", off by {:.2g}): set the environment variable "
        "OPENBLAS_CORETYPE to an older type, e.g. OPENBLAS_CORETYPE=Haswell, and start again",
        blas_core(), largest));
  }
}

std::string blas_core() { return openblas_get_corename(); }

}  // namespace cerar
