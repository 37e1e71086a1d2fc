#include "coding/factorisation.h"

#include "coding/received.h"
#include "coding/window_family.h"
#include "experiments/study/multiprecision.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <vector>

namespace cerar {
namespace {

std::vector<WindowFamily<Wide>> families(const RingShape& shape) {
  return {perturbation_windows<Wide>(shape, gaussian_perturbation<Wide>(shape, 7)),
          perturbation_windows<Wide>(shape, shift_perturbation<Wide>(shape)), cyclic_windows<Wide>(shape),
          overlapped_windows<Wide>(shape)};
}

double relative_difference(const Wide& one, const Wide& other) {
  return static_cast<double>(Wide(abs(one / other - 1)));
}

TEST_CASE("Delta is unimodular, and Pascal's triangle its inverse") {
  const Matrix<double> difference = finite_differences<double>(3, 11);
  const Matrix<double> inverse = inverse_differences<double>(3, 11);
  CHECK((difference * inverse).isIdentity(0));
  CHECK(difference.isLowerTriangular(0));
  CHECK(difference.diagonal().isOnes(0));
  CHECK(inverse(9, 3) == 3);  // binom(3, 1)
  CHECK(difference(9, 3) == 3);
  CHECK(difference(9, 6) == -3);
}

TEST_CASE("A = Delta^-1 Lambda K for every construction and window, to the working precision") {
  const PrecisionScope scope(60);
  for (const RingShape shape : {RingShape{4, 5}, {4, 8}, {3, 10}, {5, 13}, {4, 16}}) {
    for (const WindowFamily<Wide>& family : families(shape)) {
      for (std::int64_t l = 0; l < shape.workers; ++l) {
        const Wide eps("1e-3");
        Matrix<Wide> scaled = family.core(eps, l);
        for (Eigen::Index row = 0; row < scaled.rows(); ++row) {
          scaled.row(row) *= Wide(pow(eps, static_cast<int>(family.powers[static_cast<std::size_t>(row)])));
        }
        const Matrix<Wide> off = family.window(eps, l) - family.inverse_difference * scaled;
        CHECK(static_cast<double>(Wide(off.cwiseAbs().maxCoeff())) < 1e-55);
      }
    }
  }
}

TEST_CASE("singular values over their power of eps tend to the level constants at rate eps") {
  const PrecisionScope scope(60);
  for (const RingShape shape : {RingShape{4, 5}, {4, 12}, {3, 10}}) {
    CAPTURE(shape.chunks);
    for (const WindowFamily<Wide>& family : families(shape)) {
      for (std::int64_t l = 0; l < shape.workers; ++l) {
        const Vector<Wide> constants =
            level_constants<Wide>(family.inverse_difference, family.powers, family.core(Wide(0), l));
        double before = 0;
        for (const char* text : {"1e-5", "1e-7"}) {
          const Wide eps(text);
          const Vector<Wide> values = singular_values_jacobi(family.window(eps, l));
          double worst = 0;
          for (Eigen::Index k = 0; k < values.size(); ++k) {
            const Wide level = pow(eps, static_cast<int>(family.powers[static_cast<std::size_t>(k)]));
            worst = std::max(worst, relative_difference(values(k) / level, constants(k)));
          }
          CHECK(worst < 1e-2);
          if (before > 1e-9) {
            CHECK(worst < before / 50);
          }
          before = worst;
        }
      }
    }
  }
}

TEST_CASE("level constants in closed form where N divides c, cyclic and by shift") {
  // m_j, the norm of the monic polynomial of degree j orthogonal on 0 .. beta - 1 (docs/theory.md, eq. 24).
  const auto norm = [](double beta, double j) {
    const auto factorial = [](double n) { return std::tgamma(n + 1); };
    return std::sqrt(std::pow(factorial(j), 4) * factorial(beta + j) /
                     (factorial(2 * j) * factorial(2 * j + 1) * factorial(beta - 1 - j)));
  };
  const PrecisionScope scope(60);
  for (const RingShape shape : {RingShape{4, 8}, {4, 12}, {3, 12}, {2, 10}}) {
    const std::int64_t beta = shape.chunks / shape.workers;
    const auto constants = [&](const WindowFamily<Wide>& family) {
      return level_constants<Wide>(family.inverse_difference, family.powers, family.core(Wide(0), 1));
    };
    const Vector<Wide> cyclic = constants(cyclic_windows<Wide>(shape));
    const Vector<Wide> shift = constants(perturbation_windows<Wide>(shape, shift_perturbation<Wide>(shape)));
    for (std::int64_t q = 0; q < shape.chunks; ++q) {
      const auto j = static_cast<double>(q / shape.workers);
      const double m = norm(static_cast<double>(beta), j);
      const double distance = 2 / static_cast<double>(beta - 1);
      CHECK(static_cast<double>(shift(q)) == doctest::Approx(m / std::tgamma(j + 1)).epsilon(1e-12));
      CHECK(static_cast<double>(cyclic(q)) ==
            doctest::Approx(std::pow(distance, j) * m * m / std::tgamma(j + 1) / std::sqrt(static_cast<double>(beta)))
                .epsilon(1e-12));
    }
  }
}

TEST_CASE("cyclic: M_i has sqrt(N - 1) times the singular values of a window, exactly") {
  const PrecisionScope scope(60);
  for (const RingShape shape : {RingShape{4, 12}, {4, 5}, {5, 13}}) {
    const WindowFamily<Wide> family = cyclic_windows<Wide>(shape);
    const Wide eps("0.01");
    const Vector<Wide> window = singular_values_jacobi(family.window(eps, 0));
    for (std::int64_t i = 0; i < shape.workers; ++i) {
      const Vector<Wide> stacked =
          singular_values_jacobi(received_matrix(family.encoders(eps), Decoder::own_exact, i, family.first_kept_round));
      for (Eigen::Index k = 0; k < window.size(); ++k) {
        CHECK(relative_difference(stacked(k), window(k) * sqrt(Wide(shape.workers - 1))) < 1e-45);
      }
    }
  }
}

TEST_CASE(
    "overlapped: M_i has 2 N - 2 singular values of the draining head, then delta times those of the tail's M_i") {
  const PrecisionScope scope(60);
  for (const RingShape shape : {RingShape{4, 12}, {4, 8}, {5, 13}}) {
    const std::int64_t n = shape.workers;
    const Wide eps("1e-8");
    const Vector<Wide> all =
        singular_values_jacobi(received_matrix(overlapped_encoders<Wide>(shape, eps, eps), Decoder::own_exact, 1, 1));
    const Vector<Wide> tail = singular_values_jacobi(
        received_matrix(cyclic_encoders<Wide>({n, shape.chunks - n}, eps), Decoder::own_exact, 1, n - 1));
    REQUIRE(all.size() == 2 * n - 2 + tail.size());
    for (std::int64_t k = 0; k < 2 * n - 2; ++k) {
      CHECK(relative_difference(all(k), sqrt(Wide(n - 1 - k / 2))) < 1e-14);  // delta^2 off
    }
    for (Eigen::Index k = 0; k < tail.size(); ++k) {
      CHECK(relative_difference(all(2 * n - 2 + k), eps * tail(k)) < 1e-14);
    }
  }
}

}  // namespace
}  // namespace cerar
