#include "coding/vandermonde.h"

#include "coding/received.h"

#include <Eigen/LU>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/eigen.hpp>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <vector>

namespace cerar {
namespace {

// Windows of nodes 1 + tau xi are conditioned as tau^-(c - 1): 10^-5 to the 7th needs 35 digits more than a double has.
using Wide = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<80>, boost::multiprecision::et_off>;

/// Phi with R_i the inverse of worker i's window of unwrapped rows, own-exact decoding from the last c vectors.
Wide vandermonde_phi(const RingShape& shape, const Vector<Wide>& nodes, const Wide& tau) {
  const Matrices<Wide> encoders = vandermonde_encoders<Wide>(shape, nodes, tau);
  Wide sum = 0;
  for (std::int64_t i = 0; i < shape.workers; ++i) {
    Matrix<Wide> window(shape.chunks, shape.chunks);
    for (std::int64_t m = 0; m < shape.chunks; ++m) {
      for (std::int64_t j = 0; j < shape.chunks; ++j) {
        window(j, m) = pow(Wide(1 + tau * nodes(j)), static_cast<int>(shape.workers - i + m));
      }
    }
    const auto received = received_matrix<Wide>(encoders, Decoder::own_exact, i, shape.workers - 1);
    const Matrix<Wide> decoder = window.partialPivLu().inverse();
    const Matrix<Wide> off = received * decoder - decoding_target<Wide>(shape, Decoder::own_exact, i);
    sum += off.squaredNorm();
  }
  return sum;
}

TEST_CASE("Phi of the Vandermonde construction is N^3 (N-1) / 2 tau^2 sum xi^2 + O(tau^3), the remainder seen") {
  for (const RingShape shape : {RingShape{3, 5}, {4, 8}}) {
    CAPTURE(shape.workers);
    const Wide n = shape.workers;
    Vector<Wide> nodes(shape.chunks);  // not symmetric about 0: there the third order would cancel
    Wide squares = 0;
    Wide cubes = 0;
    for (std::int64_t j = 0; j < shape.chunks; ++j) {
      nodes(j) = Wide(j + 1) / shape.chunks;
      squares += nodes(j) * nodes(j);
      cubes += nodes(j) * nodes(j) * nodes(j);
    }
    const double expected = static_cast<double>(Wide(-(n + 1) * cubes / squares));
    std::vector<double> off;
    for (const char* text : {"1e-2", "1e-3", "1e-4", "1e-5"}) {
      const Wide tau(text);
      const Wide leading = n * n * n * (n - 1) / 2 * tau * tau * squares;
      const Wide phi = vandermonde_phi(shape, nodes, tau);
      const double third_order = static_cast<double>(Wide((phi / leading - 1) / tau));
      off.push_back(third_order / expected - 1);
      MESSAGE(fmt::format("N {} c {} tau {}: Phi = leading term (1 {:+.7f} tau), limit {:+.7f}", shape.workers,
                          shape.chunks, text, third_order, expected));
      // What is off is that wrapped workers hold z^-N instead of 1, and nothing else: N (N - 1) / 2 blocks of them.
      Wide exact = 0;
      for (std::int64_t j = 0; j < shape.chunks; ++j) {
        const Wide difference = pow(Wide(1 + tau * nodes(j)), -static_cast<int>(shape.workers)) - 1;
        exact += n * (n - 1) / 2 * difference * difference;
      }
      CHECK(static_cast<double>(Wide(abs(phi / exact - 1))) < 1e-20);
    }
    // The remainder is O(tau^3) with the right constant: what is left of it falls by ten with tau.
    CHECK(std::abs(off[0]) < 0.1);
    CHECK(off[1] == doctest::Approx(off[0] / 10).epsilon(0.1));
    CHECK(off[2] == doctest::Approx(off[1] / 10).epsilon(0.01));
    CHECK(off[3] == doctest::Approx(off[2] / 10).epsilon(0.001));
  }
}

}  // namespace
}  // namespace cerar
