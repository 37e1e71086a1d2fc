#pragma once

#include "coding/matrix.h"
#include "coding/ring_shape.h"
#include "optimize/ansatz.h"
#include "optimize/search.h"

#include <Eigen/SparseCore>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// A construction in closed form, as the scan sees it: named parameters with their ranges, and U as a function of them.
struct Family {
  std::vector<std::string> parameters;
  std::vector<LogRange> box;  ///< one range a parameter
  std::function<Matrices<double>(const std::vector<double>&)> encoders;
  /// T^0 .. T^{N-1} with U_w = U_0 T^w, orthogonal: every worker has the same error, so that one stands for all. Empty
  /// where the workers differ.
  std::vector<Eigen::SparseMatrix<double>> turns;
  /// The wider set of codes round the one at a point, to be descended in; null if there is nothing to gain.
  std::function<std::unique_ptr<Ansatz>(const std::vector<double>&)> ansatz;
  std::uint64_t seed = 0;  ///< what the random matrices were drawn from; 0 if there are none

  [[nodiscard]] bool symmetric() const noexcept { return !turns.empty(); }
};

/// The families that a construction consists of: one, or two where it has variants (the overlapped code with one head
/// and, for c > 3N, with two).
/// @param construction  one of construction_names()
/// @param seed          of `mpc`; the others draw nothing
/// @param round_zero    whether the encoders have a row more, u_{i,0}, as OwnBlock::included needs it
/// @throws std::invalid_argument for an unknown name, or a shape that the construction cannot have
[[nodiscard]] std::vector<Family> make_families(std::string_view construction, const RingShape& shape,
                                                std::uint64_t seed, bool round_zero);

/// overlapped, cyclic, mpc, mpc-shift, vandermonde, ring.
[[nodiscard]] const std::vector<std::string_view>& construction_names();

}  // namespace cerar
