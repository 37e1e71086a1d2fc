#include "coding/conditioning.h"
#include "coding/cyclic.h"
#include "coding/overlapped.h"
#include "coding/perturbation.h"
#include "coding/random.h"
#include "coding/ring.h"
#include "coding/vandermonde.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

namespace cerar {
namespace {

/// T from U_0 and U_1 = U_0 T, for encoders that reach all of R^c.
Eigen::MatrixXd turn(const Matrices<double>& encoders) { return encoders[0].colPivHouseholderQr().solve(encoders[1]); }

TEST_CASE("normal numbers are the same everywhere, and normal") {
  NormalGenerator normal(1);
  CHECK(normal() == doctest::Approx(1.312851528985561).epsilon(1e-14));
  CHECK(normal() == doctest::Approx(1.5159465040060633).epsilon(1e-14));
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  const int count = 100'000;
  for (int k = 0; k < count; ++k) {
    const double x = normal();
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  CHECK(std::abs(sum / count) < 0.012);
  CHECK(squares / count == doctest::Approx(1).epsilon(0.02));
  CHECK(fourths / count == doctest::Approx(3).epsilon(0.06));
}

TEST_CASE("the ring adds chunk (t - 1 - i) mod N in round t") {
  const Matrices<double> encoders = ring_encoders<double>({4, 4});
  REQUIRE(encoders.size() == 4);
  for (std::int64_t i = 0; i < 4; ++i) {
    const Eigen::MatrixXd& u = encoders[static_cast<std::size_t>(i)];
    REQUIRE(u.rows() == 6);
    for (std::int64_t t = 1; t <= 6; ++t) {
      CHECK(u.row(t - 1).sum() == 1);
      CHECK(u(t - 1, wrap(t - 1 - i, 4)) == 1);
    }
  }
  CHECK_THROWS_AS(ring_encoders<double>({4, 5}), std::invalid_argument);
}

TEST_CASE("cyclic: rows of unit norm, U_w = U_0 T^w with T orthogonal and T^N the identity") {
  for (const RingShape shape : {RingShape{4, 5}, {4, 7}, {4, 8}, {4, 12}, {3, 7}, {3, 8}, {8, 20}, {8, 24}, {5, 14}}) {
    CAPTURE(shape.workers);
    CAPTURE(shape.chunks);
    const Matrices<double> encoders = cyclic_encoders<double>(shape, 0.7);
    const Eigen::MatrixXd t = turn(encoders);
    CHECK((t.transpose() * t).isIdentity(1e-9));
    Eigen::MatrixXd power = Eigen::MatrixXd::Identity(shape.chunks, shape.chunks);
    for (std::size_t w = 0; w < encoders.size(); ++w) {
      CHECK(encoders[w].rowwise().norm().isOnes(1e-14));
      CHECK((encoders[0] * power - encoders[w]).cwiseAbs().maxCoeff() < 1e-9);
      power *= t;
    }
    CHECK(power.isIdentity(1e-9));
  }
}

TEST_CASE("cyclic: with eps = 0 every N-th row repeats, and a window of N rows is orthonormal when N divides c") {
  const Matrices<double> encoders = cyclic_encoders<double>({4, 12}, 0.0);
  CHECK((encoders[0].row(4) - encoders[0].row(0)).isZero(1e-14));
  const Eigen::MatrixXd window = encoders[0].topRows(4);
  CHECK((window * window.transpose()).isIdentity(1e-14));
}

TEST_CASE("cyclic: when N divides c, a row touches its chain's c / N chunks and no other") {
  const Matrices<double> encoders = cyclic_encoders<double>({4, 12}, 0.01);
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t t = 1; t <= 14; ++t) {
      for (std::int64_t chunk = 0; chunk < 12; ++chunk) {
        const bool touched = encoders[static_cast<std::size_t>(i)](t - 1, chunk) != 0;
        CHECK(touched == (chunk % 4 == chain(i, t, 4)));
      }
    }
  }
}

TEST_CASE("extra roots: s residues, closed under conjugation, spread out") {
  for (std::int64_t workers = 2; workers <= 17; ++workers) {
    for (std::int64_t rest = 1; rest < workers; ++rest) {
      CAPTURE(workers);
      CAPTURE(rest);
      std::set<std::int64_t> roots;
      for (const std::int64_t root : extra_roots(workers, rest)) {
        roots.insert(root);
        roots.insert(wrap(-root, workers));
      }
      CHECK(static_cast<std::int64_t>(roots.size()) == rest);
      std::int64_t dimension = 0;
      for (const NodeBlock<double>& block : node_blocks<double>(workers, 2 * workers + rest)) {
        dimension += block.pair ? 2 : 1;
        CHECK(std::abs(block.offset) <= 1);
      }
      CHECK(dimension == 2 * workers + rest);
    }
  }
}

TEST_CASE("quarter turns are exact") {
  CHECK(cos_sin<double>(0, 4, 0.0) == std::pair(1.0, 0.0));
  CHECK(cos_sin<double>(1, 4, 0.0) == std::pair(-0.0, 1.0));
  CHECK(cos_sin<double>(6, 8, 0.0) == std::pair(0.0, -1.0));
  CHECK(cos_sin<double>(-3, 4, 0.0) == std::pair(-0.0, 1.0));
  const auto [c, s] = cos_sin<double>(5, 7, 0.1);
  CHECK(c == doctest::Approx(std::cos(10 * M_PI / 7 + 0.1)).epsilon(1e-14));
  CHECK(s == doctest::Approx(std::sin(10 * M_PI / 7 + 0.1)).epsilon(1e-14));
}

TEST_CASE("overlapped: an exact ring on the first N chunks, then delta times a cyclic code of the others") {
  for (const RingShape shape : {RingShape{4, 5}, {4, 8}, {4, 12}, {8, 20}, {2, 4}, {3, 9}}) {
    CAPTURE(shape.workers);
    CAPTURE(shape.chunks);
    const std::int64_t n = shape.workers;
    const Matrices<double> encoders = overlapped_encoders<double>(shape, 1e-3, 0.1);
    for (std::int64_t i = 0; i < n; ++i) {
      const Eigen::MatrixXd& u = encoders[static_cast<std::size_t>(i)];
      CHECK(u.topRightCorner(n, shape.chunks - n).isZero(0));
      CHECK(u.bottomLeftCorner(shape.rounds() - n, n).isZero(0));
      CHECK((u.bottomRows(shape.rounds() - n).rowwise().norm() * 1e3).isOnes(1e-12));
      CHECK((u.topLeftCorner(n, n) * u.topLeftCorner(n, n).transpose()).isIdentity(0));
    }
  }
  CHECK(overlapped_encoders<double>({4, 4}, 1e-3, 0.1)[2] == ring_encoders<double>({4, 4})[2]);
}

TEST_CASE("perturbation: rows are b_r D^j, one power of D apart after N rounds and between neighbours") {
  const RingShape shape{3, 8};
  const Perturbation<double> p = gaussian_perturbation<double>(shape, 5);
  const double eps = 0.01;
  const Eigen::MatrixXd d = Eigen::MatrixXd::Identity(8, 8) + eps * p.direction;
  CHECK(p.direction.isDiagonal(0));
  const Matrices<double> encoders = perturbation_encoders(shape, p, eps);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t t = 1; t <= shape.rounds(); ++t) {
      Eigen::RowVectorXd expected = p.base.row(wrap(t - i, 3));
      for (std::int64_t power = 0; power < (t - i + 3) / 3; ++power) {
        expected *= d;
      }
      CHECK((encoders[static_cast<std::size_t>(i)].row(t - 1) - expected).norm() < 1e-13);
    }
  }
  CHECK(gaussian_perturbation<double>(shape, 5).base == p.base);
  CHECK(gaussian_perturbation<double>(shape, 6).base != p.base);
}

/// K^(l): the rows of the limit, b_r H^k for the k-th row of residue r in window l (docs/theory.md, eq. 20).
Eigen::MatrixXd limit_matrix(const Perturbation<double>& p, std::int64_t first) {
  const std::int64_t n = p.base.rows();
  const std::int64_t c = p.base.cols();
  Eigen::MatrixXd limit(c, c);
  std::vector<std::int64_t> seen(static_cast<std::size_t>(n), 0);
  for (std::int64_t m = first; m < first + c; ++m) {
    Eigen::RowVectorXd row = p.base.row(m % n);
    for (std::int64_t k = 0; k < seen[static_cast<std::size_t>(m % n)]; ++k) {
      row *= p.direction;
    }
    ++seen[static_cast<std::size_t>(m % n)];
    limit.row(m - first) = row;
  }
  return limit;
}

TEST_CASE(
    "shift: the limit of every window is orthonormal if N divides c, and well-conditioned with the frame otherwise") {
  for (const RingShape shape : {RingShape{4, 4}, {4, 8}, {4, 12}, {8, 24}}) {
    const Perturbation<double> p = shift_perturbation<double>(shape);
    for (std::int64_t l = 0; l < shape.workers; ++l) {
      const Eigen::MatrixXd limit = limit_matrix(p, l);
      CHECK((limit * limit.transpose()).isIdentity(0));
    }
  }
  for (const RingShape shape :
       {RingShape{4, 5}, {4, 6}, {4, 7}, {8, 20}, {8, 11}, {8, 13}, {5, 8}, {7, 11}, {16, 43}}) {
    CAPTURE(shape.workers);
    CAPTURE(shape.chunks);
    const Perturbation<double> p = shift_perturbation<double>(shape);
    for (std::int64_t l = 0; l < shape.workers; ++l) {
      CHECK(kappa2(limit_matrix(p, l)) < 1e3 * std::pow(2.0, static_cast<double>(shape.chunks % shape.workers)));
    }
  }
}

TEST_CASE("kappa_2 of a window grows as eps^-r*, with N singular values at each power of eps (the paper's theorem 2)") {
  struct Case {
    RingShape shape;
    bool random;
  };
  for (const Case& c : {Case{{4, 8}, false}, {{4, 12}, false}, {{4, 6}, false}, {{3, 7}, true}, {{4, 12}, true}}) {
    CAPTURE(c.shape.workers);
    CAPTURE(c.shape.chunks);
    const auto p = c.random ? gaussian_perturbation<double>(c.shape, 3) : shift_perturbation<double>(c.shape);
    for (std::int64_t l = 0; l < c.shape.workers; ++l) {
      const Eigen::VectorXd coarse = singular_values(window(p, 1e-2, l));
      const Eigen::VectorXd fine = singular_values(window(p, 1e-3, l));
      for (Eigen::Index k = 0; k < coarse.size(); ++k) {
        const double slope = std::log10(coarse(k) / fine(k));
        CHECK(slope == doctest::Approx(static_cast<double>(k / c.shape.workers)).epsilon(0.06).scale(1));
      }
    }
  }
}

TEST_CASE("finite differences take the powers of eps out of a window: Delta A = Lambda K") {
  const RingShape shape{4, 12};
  const Perturbation<double> p = shift_perturbation<double>(shape);
  const double eps = 1e-2;
  const Eigen::MatrixXd a = window(p, eps, 0);
  const Eigen::MatrixXd d = Eigen::MatrixXd::Identity(12, 12) + eps * p.direction;
  for (std::int64_t r = 0; r < 4; ++r) {
    const Eigen::RowVectorXd second = a.row(r) - 2 * a.row(r + 4) + a.row(r + 8);
    CHECK((second - eps * eps * p.base.row(r) * p.direction * p.direction).norm() < 1e-15);
    CHECK((a.row(r + 4) - p.base.row(r) * d).norm() < 1e-15);
  }
}

TEST_CASE("vandermonde: powers of the nodes") {
  const RingShape shape{3, 5};
  const Vector<double> nodes = vandermonde_nodes<double>(5);
  CHECK(nodes.isApprox((Vector<double>(5) << -1, -0.5, 0, 0.5, 1).finished(), 1e-15));
  const Matrices<double> encoders = vandermonde_encoders<double>(shape, nodes, 0.1);
  CHECK(encoders[2](0, 4) == doctest::Approx(1 / 1.1));  // worker 2, round 1: z^-1
  CHECK(encoders[0](5, 0) == doctest::Approx(std::pow(0.9, 6)));
  CHECK(encoders[1](3, 2) == 1);
}

TEST_CASE("the same source serves long double") {
  const auto wide = overlapped_encoders<long double>({4, 12}, 1e-3L, 0.1L);
  const auto narrow = overlapped_encoders<double>({4, 12}, 1e-3, 0.1);
  CHECK((wide[1].cast<double>() - narrow[1]).cwiseAbs().maxCoeff() < 1e-15);
}

TEST_CASE("kappa_2: known values, singular, empty and not finite") {
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(3, 2);
  matrix(0, 0) = 8;
  matrix(2, 1) = -2;
  CHECK(kappa2(matrix) == doctest::Approx(4));
  CHECK(kappa2_jacobi<double>(matrix) == doctest::Approx(4));
  matrix(2, 1) = 0;
  CHECK(std::isinf(kappa2(matrix)));
  CHECK(kappa2(Eigen::MatrixXd(4, 0)) == 1);
  matrix(2, 1) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(kappa2(matrix), std::invalid_argument);
}

}  // namespace
}  // namespace cerar
