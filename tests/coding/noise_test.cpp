#include "coding/noise.h"

#include "coding/decoding.h"
#include "coding/overlapped.h"
#include "coding/received.h"
#include "tests/coding/support.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace cerar {
namespace {

/// One unit of error, put in by hand.
struct Injection {
  enum class Where { encoding, adding, removing } where;
  std::int64_t worker;
  std::int64_t round;
};

/// What `worker` keeps of it when nothing else is on the ring: the protocol run message by message on plain numbers.
Eigen::VectorXd kept_response(const RingShape& shape, Decoder decoder, std::int64_t first, std::int64_t worker,
                              const Injection& injection) {
  const std::int64_t n = shape.workers;
  const auto at = [&](Injection::Where where, std::int64_t i, std::int64_t t) {
    return injection.where == where && injection.worker == i && injection.round == t ? 1.0 : 0.0;
  };
  std::vector<double> kept;
  std::vector<double> others(static_cast<std::size_t>(n), 0);
  for (std::int64_t t = 1; t <= shape.rounds(); ++t) {
    std::vector<double> sent(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      sent[static_cast<std::size_t>(i)] = others[static_cast<std::size_t>(i)] + at(Injection::Where::encoding, i, t) +
                                          at(Injection::Where::adding, i, t);
    }
    if (decoder == Decoder::paper && t == n) {
      kept.push_back(sent[static_cast<std::size_t>(worker)]);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const double received = sent[static_cast<std::size_t>(wrap(i - 1, n))];
      others[static_cast<std::size_t>(i)] =
          received - (t >= n ? at(Injection::Where::encoding, i, t - n + 1) : 0) + at(Injection::Where::removing, i, t);
      if (i == worker && decoder == Decoder::paper && t >= n) {
        kept.push_back(received);
      } else if (i == worker && decoder == Decoder::own_exact && t >= first) {
        kept.push_back(others[static_cast<std::size_t>(i)]);
      }
    }
  }
  return Eigen::Map<Eigen::VectorXd>(kept.data(), static_cast<Eigen::Index>(kept.size()));
}

TEST_CASE("Sigma is what single errors do when they are carried round the ring") {
  std::mt19937_64 engine(17);
  for (const RingShape shape : {RingShape{2, 3}, {3, 3}, {3, 7}, {4, 5}, {4, 12}, {5, 8}}) {
    const std::int64_t last = shape.workers - 1;
    for (const auto& keeping : std::vector<std::pair<Decoder, std::int64_t>>{
             {Decoder::own_exact, 1}, {Decoder::own_exact, last}, {Decoder::paper, last}}) {
      const Decoder decoder = keeping.first;
      const std::int64_t first = keeping.second;
      CAPTURE(shape.workers);
      CAPTURE(shape.chunks);
      CAPTURE(first);
      const auto positive = [&] { return static_cast<double>(engine() % 9 + 1); };
      NoiseSources sources{shape, {}, {}, {}};
      for (Eigen::MatrixXd* matrix : {&sources.encoding, &sources.adding, &sources.removing}) {
        *matrix = Eigen::MatrixXd::NullaryExpr(shape.workers, shape.rounds(), positive);
      }
      for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
        const Eigen::MatrixXd received =
            received_matrix<double>(Matrices<double>(static_cast<std::size_t>(shape.workers),
                                                     Eigen::MatrixXd::Zero(shape.rounds(), shape.chunks)),
                                    decoder, worker, first);
        Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(received.cols(), received.cols());
        for (std::int64_t i = 0; i < shape.workers; ++i) {
          for (std::int64_t t = 1; t <= shape.rounds(); ++t) {
            const auto add = [&](Injection::Where where, double variance) {
              const Eigen::VectorXd response = kept_response(shape, decoder, first, worker, {where, i, t});
              expected += variance * response * response.transpose();
            };
            add(Injection::Where::encoding, sources.encoding(i, t - 1));
            add(Injection::Where::adding, sources.adding(i, t - 1));
            add(Injection::Where::removing, sources.removing(i, t - 1));
          }
        }
        const Eigen::MatrixXd factor =
            noise_factor(sources, received, decoder, worker, first, {"f32", 0, 0}, NoiseEntry::hops);
        CHECK((factor.transpose() * factor - expected).cwiseAbs().maxCoeff() < 1e-9);
      }
    }
  }
}

TEST_CASE("sources: what rounds, what does not") {
  const RingShape shape{3, 6};
  const Matrices<double> encoders = overlapped_encoders<double>(shape, 0.25, 0.0);
  const NoiseSources sources = noise_sources(encoders, {"f32", 1, 0}, NoiseEntry::operations);
  CHECK(sources.encoding.leftCols(3).isZero(0));   // copying a chunk is exact
  CHECK(sources.encoding.rightCols(4).isZero(0));  // and so is scaling one chunk by a power of two
  CHECK(sources.adding.col(0).isZero(0));          // the first message is the encoding itself
  CHECK(sources.adding(0, 1) == doctest::Approx(2));
  CHECK(sources.adding(0, 2) == doctest::Approx(3));
  CHECK(sources.removing.leftCols(2).isZero(0));
  CHECK(sources.removing(0, 2) == doctest::Approx(2));
  CHECK(sources.adding(0, 3) == doctest::Approx(2 + 0.0625));  // heads of two workers and the first tail
  CHECK(sources.adding(0, 5) == doctest::Approx(3 * 0.0625));

  const NoiseSources hops = noise_sources(encoders, {"f32", 1, 0}, NoiseEntry::hops);
  CHECK(hops.encoding.isZero(0));
  CHECK(hops.removing.isZero(0));
  CHECK(hops.adding(0, 0) == doctest::Approx(1));
  const NoiseSources correlated = noise_sources(encoders, {"f32", 1, 0.5}, NoiseEntry::hops);
  CHECK(correlated.adding(0, 2) == doctest::Approx(0.5 * 3 + 0.5 * 9));  // (1 - rho) 3 + rho |3 e|^2
}

TEST_CASE("encoding costs a rounding for each product and each addition") {
  Matrices<double> encoders(2, Eigen::MatrixXd::Zero(2, 2));
  encoders[0].row(0) << 3, 0;
  encoders[0].row(1) << 3, 5;
  encoders[1].row(0) << 2, -0.5;
  const NoiseSources sources = noise_sources(encoders, {"f32", 1, 0}, NoiseEntry::operations);
  CHECK(sources.encoding(0, 0) == doctest::Approx(9));            // one product
  CHECK(sources.encoding(0, 1) == doctest::Approx(9 + 25 + 34));  // two products, one sum
  CHECK(sources.encoding(1, 0) == doctest::Approx(4.25));         // powers of two: only the sum
  CHECK(sources.encoding(1, 1) == 0);
}

TEST_CASE("the best decoder: no perturbation of R lowers the error, and chains are solved apart") {
  const RingShape shape{4, 12};
  const Matrices<double> encoders = overlapped_encoders<double>(shape, 0.02, 0.3);
  const NoiseModel noise{"f32", 1e-3, 0.3};
  const NoiseSources sources = noise_sources(encoders, noise, NoiseEntry::operations);
  const auto received = received_matrix<double>(encoders, Decoder::own_exact, 1, 1);
  const auto target = decoding_target<double>(shape, Decoder::own_exact, 1);
  const Eigen::MatrixXd factor =
      noise_factor(sources, received, Decoder::own_exact, 1, 1, noise, NoiseEntry::operations);
  const auto covariance = uniform_covariance<double>(4, noise.correlation);
  const auto best = optimal_decoder<double>(received, factor, target, covariance);
  const auto error = [&](const Eigen::MatrixXd& r) {
    return signal_variance<double>(received * r - target, covariance).sum() + (factor * r).squaredNorm();
  };
  CHECK(error(best.decoder) == doctest::Approx(best.squared_error).epsilon(1e-10));
  std::mt19937_64 engine(3);
  for (int k = 0; k < 50; ++k) {
    const Eigen::MatrixXd change = 1e-3 * test::integer_matrix(best.decoder.rows(), best.decoder.cols(), engine);
    CHECK(error(best.decoder + change) > best.squared_error);
  }
  for (Eigen::Index m = 0; m < best.decoder.rows(); ++m) {
    for (Eigen::Index k = 0; k < best.decoder.cols(); ++k) {
      if ((m - k) % 4 != 0) {
        CHECK(best.decoder(m, k) == 0);  // o_{1,m+1} is on chain m mod 4
      }
    }
  }
  // Solved in one piece the answer is the same.
  Eigen::MatrixXd left(received.rows() + factor.rows(), received.cols());
  left << correlate<double>(received, covariance), factor;
  Eigen::MatrixXd right = Eigen::MatrixXd::Zero(left.rows(), 12);
  right.topRows(48) = correlate<double>(target, covariance);
  CHECK((left.colPivHouseholderQr().solve(right) - best.decoder).cwiseAbs().maxCoeff() < 1e-6);
}

TEST_CASE("C^{1/2} squares to C") {
  const Eigen::MatrixXd root = correlate<double>(Eigen::MatrixXd::Identity(6, 6), uniform_covariance<double>(3, 0.4));
  const Eigen::MatrixXd c = root.transpose() * root;
  CHECK(c(0, 0) == doctest::Approx(1));
  CHECK(c(0, 2) == doctest::Approx(0.4));
  CHECK(c(1, 5) == doctest::Approx(0.4));
  CHECK(c(0, 1) == 0);
}

}  // namespace
}  // namespace cerar
