#pragma once

#include <cstdint>
#include <string>

namespace cerar {

enum class Transpose { no, yes };

/// C = op(A) op(B) + beta C by OpenBLAS, all row-major and densely packed.
///
/// Called directly and not through EIGEN_USE_BLAS: that switch must be the same in every file of a program, else the
/// linker picks one of two different products of the same name.
///
/// @param m, n, k  op(A) is m x k, op(B) is k x n, C is m x n
template <class Scalar>
void multiply(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
              const Scalar* a, const Scalar* b, Scalar beta, Scalar* c);

/// One BLAS thread in this process: workers that share a host would fight for its cores otherwise.
void use_one_blas_thread();

/// Compares a small product of each kind that training uses with plain loops: OpenBLAS picks its kernels by the
/// processor, and an older OpenBLAS can pick wrong ones on a newer processor.
/// @throws Error naming OPENBLAS_CORETYPE
void check_blas();

/// The kernels OpenBLAS picked for this processor, e.g. "SkylakeX".
[[nodiscard]] std::string blas_core();

}  // namespace cerar
