// The piggyback ring as a linear map, in double and with 50 digits: what the maps say about contamination and noise is
// the law of docs/piggyback.md, eq. 5.
#include "coding/piggyback_reference.h"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/eigen.hpp>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace cerar {

namespace {

using Wide = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>, boost::multiprecision::et_off>;

PiggybackCode code_with(const RingShape& shape, double d) {
  PiggybackCode code = make_piggyback_code(shape, {.eta = 2.5e-8}, false);
  code.d = d;
  return code;
}

template <class Scalar>
Matrices<Scalar> normal_gradients(const RingShape& shape, Eigen::Index values) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  Matrices<Scalar> gradients;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    gradients.push_back(
        Matrix<Scalar>::NullaryExpr(values, shape.chunks, [&] { return static_cast<Scalar>(normal(generator)); }));
  }
  return gradients;
}

/// [G_0 | ... | G_{N-1}]
template <class Scalar>
Matrix<Scalar> side_by_side(const Matrices<Scalar>& gradients) {
  const Eigen::Index chunks = gradients[0].cols();
  Matrix<Scalar> all(gradients[0].rows(), chunks * static_cast<Eigen::Index>(gradients.size()));
  for (std::size_t worker = 0; worker < gradients.size(); ++worker) {
    all.middleCols(static_cast<Eigen::Index>(worker) * chunks, chunks) = gradients[worker];
  }
  return all;
}

template <class Scalar>
double largest(const Matrix<Scalar>& matrix) {
  return static_cast<double>(Scalar(matrix.cwiseAbs().maxCoeff()));
}

/// || E_i - T ||_F^2 of worker i's columns [first, first + count), T one identity a worker.
template <class Scalar>
double contamination(const PiggybackMaps<Scalar>& maps, std::size_t worker, Eigen::Index first, Eigen::Index count) {
  const Matrix<Scalar>& map = maps.results[worker];
  const Matrix<Scalar> target = Matrix<Scalar>::Identity(map.cols(), map.cols()).replicate(map.rows() / map.cols(), 1);
  const Matrix<Scalar> off = (map - target).middleCols(first, count);
  return static_cast<double>(Scalar(off.squaredNorm()));
}

/// k2 of eq. 5, without the correction of the own rounding.
/// @param leaders_too  count errors on what the leaders send; their own roundings are none, being remembered with it
template <class Scalar>
double noise_amplification(const PiggybackCode& code, bool leaders_too) {
  const RingShape& shape = code.shape;
  const PiggybackMaps<Scalar> maps = piggyback_maps<Scalar>(code);
  Scalar noise = 0;
  for (std::int64_t t = 1; t <= shape.rounds(); ++t) {
    for (std::int64_t k = 0; k < shape.workers; ++k) {
      if (piggyback_role(k, t, shape.workers).role == shape.workers - 1 && !leaders_too) {
        continue;
      }
      const Matrix<Scalar>& received = maps.received[static_cast<std::size_t>((k + 1) % shape.workers)];
      const Scalar message_variance = received.col(t - 1).squaredNorm();
      for (const Matrix<Scalar>& result : maps.of_errors) {
        noise += message_variance * result.row(shape.workers * (t - 1) + k).squaredNorm();
      }
    }
  }
  const auto n = static_cast<double>(shape.workers);
  const auto groups = static_cast<double>(code.groups());
  // Of N results of c chunks, each a sum of N unit variances; eq. 5 has (q - 1) / q k2 eta^2 / d^2.
  return static_cast<double>(noise) / (n * static_cast<double>(shape.chunks) * n) * code.d * code.d * groups /
         (groups - 1);
}

}  // namespace

TEST_CASE_TEMPLATE("the maps say what the protocol does to any gradients", Scalar, double, Wide) {
  const double digits = static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  for (const RingShape shape : {RingShape{3, 6}, {4, 12}, {5, 20}}) {
    CAPTURE(shape.workers);
    const PiggybackCode code = code_with(shape, 0x1p-11);
    const PiggybackMaps<Scalar> maps = piggyback_maps<Scalar>(code);
    const Matrices<Scalar> gradients = normal_gradients<Scalar>(shape, 7);
    const Matrix<Scalar> all = side_by_side(gradients);
    const Matrices<Scalar> sums =
        piggyback_rounds<Scalar>(code, gradients, 1, [&](std::int64_t t, std::int64_t i, const auto& message) {
          const Matrix<Scalar>& receiver = maps.received[static_cast<std::size_t>((i + 1) % shape.workers)];
          const Matrix<Scalar> off = message.values - all * receiver.col(t - 1);
          // A leader's 1 / d makes the roundings of the messages before it 1 / d times larger.
          CHECK(largest(off) < 100 * digits / code.d);
        });
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Matrix<Scalar> off = sums[i] - all * maps.results[i];
      CHECK(largest(off) < 100 * digits / code.d);
    }
  }
}

TEST_CASE_TEMPLATE("contamination is k1 d^2 at every worker, and the last group has none", Scalar, double, Wide) {
  for (const RingShape shape : {RingShape{3, 9}, {4, 12}, {7, 14}}) {
    const auto n = static_cast<double>(shape.workers);
    const double k1 = (n - 1) * (n - 2) / (12 * n * n);
    for (const double d : {0x1p-8, 0x1p-12}) {
      CAPTURE(shape.workers);
      CAPTURE(d);
      const PiggybackMaps<Scalar> maps = piggyback_maps<Scalar>(code_with(shape, d));
      for (std::size_t i = 0; i < maps.results.size(); ++i) {
        for (Eigen::Index group = 0; group + 1 < shape.chunks / shape.workers; ++group) {
          // A group holds N chunks, each a sum of N unit variances.
          const double squared = contamination(maps, i, group * shape.workers, shape.workers) / (n * n);
          CHECK(squared == doctest::Approx(k1 * d * d).epsilon(2 * d));
        }
        CHECK(contamination(maps, i, shape.chunks - shape.workers, shape.workers) < 1e-18);
      }
    }
  }
}

TEST_CASE("with 50 digits the law of the contamination holds down to d = 2^-60") {
  const RingShape shape{4, 12};
  for (const double d : {0x1p-20, 0x1p-40, 0x1p-60}) {
    const PiggybackMaps<Wide> maps = piggyback_maps<Wide>(code_with(shape, d));
    double phi = 0;
    for (std::size_t i = 0; i < maps.results.size(); ++i) {
      phi += contamination(maps, i, 0, shape.chunks);
    }
    const double relative = std::sqrt(phi / static_cast<double>(shape.workers * shape.workers * shape.chunks));
    MESSAGE(fmt::format("d {:.3g}: contamination {:.6g}, law {:.6g}", d, relative,
                        predict_piggyback_error(shape, d, {.eta = 0})));
    CHECK(relative == doctest::Approx(predict_piggyback_error(shape, d, {.eta = 0})).epsilon(1e-5));
  }
}

TEST_CASE_TEMPLATE("an error on a message reaches one group's sum 1 / d times as large, and no other", Scalar, double,
                   Wide) {
  const RingShape shape{4, 12};
  const PiggybackCode code = code_with(shape, 0x1p-11);
  const PiggybackMaps<Scalar> maps = piggyback_maps<Scalar>(code);
  for (std::int64_t t = 1; t <= shape.rounds(); ++t) {
    for (std::int64_t k = 0; k < shape.workers; ++k) {
      const auto [chain, role, pass] = piggyback_role(k, t, shape.workers);
      // An error on the way from the leader is not in the bits that it takes away a pass later.
      const std::int64_t spoilt = role == shape.workers - 1 ? pass + 1 : pass;
      const Eigen::Index row = shape.workers * (t - 1) + k;
      for (const Matrix<Scalar>& result : maps.of_errors) {
        for (Eigen::Index chunk = 0; chunk < shape.chunks; ++chunk) {
          const double effect = static_cast<double>(result(row, chunk));
          if (spoilt > 0 && chunk == spoilt * shape.workers + chain) {
            CHECK(std::abs(effect) == doctest::Approx(1 / code.d).epsilon(0.001));
          } else {
            CHECK(std::abs(effect) < 1.5);
          }
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("the messages' roundings give k2 = N - 1, and N if the leader did not remember what it sent", Scalar,
                   double, Wide) {
  for (const RingShape shape : {RingShape{3, 12}, {4, 12}, {6, 12}}) {
    CAPTURE(shape.workers);
    const PiggybackCode code = code_with(shape, 0x1p-11);
    const auto n = static_cast<double>(shape.workers);
    CHECK(noise_amplification<Scalar>(code, false) == doctest::Approx(n - 1).epsilon(0.01));
    CHECK(noise_amplification<Scalar>(code, true) == doctest::Approx(n).epsilon(0.01));
  }
}

}  // namespace cerar
