#include "coding/reference.h"

#include "coding/cyclic.h"
#include "coding/decoding.h"
#include "coding/overlapped.h"
#include "coding/prediction.h"
#include "coding/received.h"
#include "coding/ring.h"
#include "coding/simulation.h"
#include "tests/coding/support.h"

#include <Eigen/LU>
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace cerar {
namespace {

const std::vector<RingShape> shapes = {{1, 1}, {1, 4}, {2, 2},  {2, 5},   {3, 3},
                                       {3, 7}, {4, 5}, {4, 12}, {16, 16}, {16, 21}};

Eigen::VectorXd delta(const Code& code, const Matrices<double>& gradients, std::int64_t worker, std::int64_t round) {
  const auto w = static_cast<std::size_t>(wrap(worker, code.shape.workers));
  return gradients[w] * code.encoders[w].row(round - 1).transpose();
}

TEST_CASE("induction: s_{i,t} is the sum of the encodings of the last min(t, N) workers, to the bit on integers") {
  for (const RingShape& shape : shapes) {
    CAPTURE(shape.workers);
    CAPTURE(shape.chunks);
    const Code code = test::integer_code(shape, Decoder::own_exact, 1, 11);
    const Matrices<double> gradients = test::integer_gradients(shape, 3, 12);
    std::int64_t seen = 0;
    reference_rounds<double>(code, gradients, [&](const Round<double>& round) {
      CHECK(round.number == ++seen);
      for (std::int64_t i = 0; i < shape.workers; ++i) {
        Eigen::VectorXd sum = Eigen::VectorXd::Zero(3);
        for (std::int64_t k = 0; k < std::min(round.number, shape.workers); ++k) {
          sum += delta(code, gradients, i - k, round.number - k);
        }
        const auto next = static_cast<std::size_t>(wrap(i + 1, shape.workers));
        CHECK(round.sent[static_cast<std::size_t>(i)] == sum);
        CHECK(round.received[next] == sum);
        if (round.number >= shape.workers) {
          sum -= delta(code, gradients, i + 1, round.number - shape.workers + 1);
        }
        CHECK(round.of_others[next] == sum);
      }
    });
    CHECK(seen == shape.rounds());
  }
}

TEST_CASE("the paper's example N = 4, c = 5: seven rounds, and what worker 0 keeps") {
  const RingShape shape{4, 5};
  const Matrices<double> gradients = test::integer_gradients(shape, 2, 21);
  const Code own = test::integer_code(shape, Decoder::own_exact, 3, 22);
  const auto d = [&](std::int64_t worker, std::int64_t round) { return delta(own, gradients, worker, round); };
  std::vector<Eigen::VectorXd> others;
  std::vector<Eigen::VectorXd> received;
  std::vector<Eigen::VectorXd> sent;
  reference_rounds<double>(own, gradients, [&](const Round<double>& round) {
    others.push_back(round.of_others[0]);
    received.push_back(round.received[0]);
    sent.push_back(round.sent[0]);
  });
  REQUIRE(others.size() == 7);
  CHECK(others[0] == d(3, 1));
  CHECK(others[1] == d(3, 2) + d(2, 1));
  CHECK(others[2] == d(3, 3) + d(2, 2) + d(1, 1));  // the first of the paper's five
  CHECK(received[3] == d(3, 4) + d(2, 3) + d(1, 2) + d(0, 1));
  CHECK(others[3] == d(3, 4) + d(2, 3) + d(1, 2));
  CHECK(sent[3] == d(0, 4) + d(3, 3) + d(2, 2) + d(1, 1));
  CHECK(others[6] == d(3, 7) + d(2, 6) + d(1, 5));
}

TEST_CASE("both decoders give what M_i and R_i say, to the bit on integers") {
  for (const RingShape& shape : shapes) {
    const std::int64_t last = std::max<std::int64_t>(1, shape.workers - 1);
    std::vector<std::pair<Decoder, std::int64_t>> cases = {{Decoder::own_exact, 1}, {Decoder::own_exact, last}};
    if (shape.workers > 1) {
      cases.emplace_back(Decoder::paper, last);
    }
    for (const auto& keeping : cases) {
      const Decoder decoder = keeping.first;
      const std::int64_t first = keeping.second;
      CAPTURE(shape.workers);
      CAPTURE(shape.chunks);
      CAPTURE(first);
      const Code code = test::integer_code(shape, decoder, first, 31);
      const Matrices<double> gradients = test::integer_gradients(shape, 3, 32);
      Eigen::MatrixXd all(3, shape.workers * shape.chunks);
      for (std::int64_t w = 0; w < shape.workers; ++w) {
        all.middleCols(w * shape.chunks, shape.chunks) = gradients[static_cast<std::size_t>(w)];
      }
      const Matrices<double> results = reference_all_reduce<double>(code, gradients);
      for (std::int64_t i = 0; i < shape.workers; ++i) {
        CHECK(results[static_cast<std::size_t>(i)] == all * result_map(code, i));
      }
    }
  }
}

TEST_CASE("own-exact decoding has a zero own block, the paper's has not") {
  const Code own = test::integer_code({4, 9}, Decoder::own_exact, 3, 41);
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(received_matrix<double>(own.encoders, Decoder::own_exact, i, 1).middleRows(9 * i, 9).isZero(0));
    CHECK_FALSE(received_matrix<double>(own.encoders, Decoder::paper, i, 3).middleRows(9 * i, 9).isZero(0));
  }
  CHECK_THROWS_WITH(received_matrix<double>(own.encoders, Decoder::paper, 0, 1), doctest::Contains("first_kept_round"));
  CHECK_THROWS_WITH(received_matrix<double>(own.encoders, Decoder::own_exact, 0, 4),
                    doctest::Contains("first_kept_round"));
  CHECK_THROWS_WITH(received_matrix<double>(own.encoders, Decoder::own_exact, 4, 1), doctest::Contains("worker is 4"));
}

/// A code whose decoder is the best for exact arithmetic.
Code decoded(const RingShape& shape, Matrices<double> encoders, Decoder decoder, std::int64_t first) {
  Code code;
  code.shape = shape;
  code.decoder = decoder;
  code.first_kept_round = first;
  code.encoders = std::move(encoders);
  for (std::int64_t i = 0; i < shape.workers; ++i) {
    const auto received = received_matrix<double>(code.encoders, decoder, i, first);
    const Eigen::MatrixXd no_noise(0, received.cols());
    code.decoders.push_back(optimal_decoder<double>(received, no_noise, decoding_target<double>(shape, decoder, i),
                                                    uniform_covariance<double>(shape.workers, 0))
                                .decoder);
  }
  return code;
}

TEST_CASE("c = N is exact with either decoder: integers come back to the bit") {
  for (const std::int64_t workers : {1, 2, 3, 4, 16}) {
    CAPTURE(workers);
    const RingShape shape{workers, workers};
    const std::int64_t last = std::max<std::int64_t>(1, workers - 1);
    const Matrices<double> gradients = test::integer_gradients(shape, 5, 51);
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(5, workers);
    for (const Eigen::MatrixXd& gradient : gradients) {
      sum += gradient;
    }
    for (const Decoder decoder : {Decoder::own_exact, Decoder::paper}) {
      if (decoder == Decoder::paper && workers == 1) {
        continue;
      }
      const Code code = decoded(shape, ring_encoders<double>(shape), decoder, last);
      CHECK(phi(code) < 1e-24);
      for (const Eigen::MatrixXd& result : reference_all_reduce<double>(code, gradients)) {
        CHECK((result - sum).cwiseAbs().maxCoeff() < 1e-12);
      }
    }
  }
}

TEST_CASE("a single worker gets its own gradient back, bit for bit, whatever the code holds") {
  for (const std::int64_t chunks : {1, 3}) {
    Code code = test::integer_code({1, chunks}, Decoder::own_exact, 1, 61);
    const Matrices<float> gradients = random_gradients<float>({1, chunks}, 100, 0, 62);
    CHECK(reference_all_reduce<float>(code, gradients)[0] == gradients[0]);
  }
}

TEST_CASE("two workers have rate 1 and no error but rounding") {
  const RingShape shape{2, 6};
  const Code code = decoded(shape, overlapped_encoders<double>(shape, 1.0, 1.0), Decoder::own_exact, 1);
  CHECK(shape.rate() == 1);
  const Matrices<double> gradients = random_gradients<double>(shape, 50, 0, 71);
  CHECK(measured_error(gradients, reference_all_reduce<double>(code, gradients)).relative < 1e-13);
}

TEST_CASE(
    "lower bound: fewer than d values received leave a gradient that nobody sees, though it is N - 1 times in the "
    "sum") {
  const RingShape shape{4, 6};
  const Code code = test::integer_code(shape, Decoder::own_exact, 1, 75);
  const std::int64_t seen = shape.chunks - 1;  // of worker 0's received vectors: rate below 1
  Eigen::MatrixXd restricted = Eigen::MatrixXd::Zero(shape.chunks, seen);
  const auto received = received_matrix<double>(code.encoders, Decoder::own_exact, 0, 1);
  for (std::int64_t w = 1; w < shape.workers; ++w) {
    restricted += received.block(w * shape.chunks, 0, shape.chunks, seen);
  }
  const Eigen::MatrixXd null = Eigen::MatrixXd(restricted.transpose()).fullPivLu().kernel();
  Matrices<double> gradients(4, null.col(0).transpose().normalized());
  gradients[0].setZero();
  reference_rounds<double>(code, gradients, [&](const Round<double>& round) {
    if (round.number <= seen) {
      CHECK(round.of_others[0].cwiseAbs().maxCoeff() < 1e-12);
    }
  });
  CHECK((gradients[1] + gradients[2] + gradients[3]).norm() == doctest::Approx(3));
}

TEST_CASE("no values and wrong shapes") {
  const Code code = test::integer_code({3, 5}, Decoder::own_exact, 1, 81);
  const Matrices<float> empty(3, Matrix<float>::Zero(0, 5));
  for (const Matrix<float>& result : reference_all_reduce<float>(code, empty)) {
    CHECK(result.rows() == 0);
    CHECK(result.cols() == 5);
  }
  CHECK_THROWS_WITH_AS(reference_all_reduce<float>(code, Matrices<float>(2, Matrix<float>::Zero(1, 5))),
                       doctest::Contains("3 workers, but 2 gradients"), std::invalid_argument);
  CHECK_THROWS_WITH(reference_all_reduce<float>(code, Matrices<float>(3, Matrix<float>::Zero(1, 4))),
                    doctest::Contains("c = 5"));
  Matrices<float> ragged(3, Matrix<float>::Zero(2, 5));
  ragged[1] = Matrix<float>::Zero(3, 5);
  CHECK_THROWS_WITH(reference_all_reduce<float>(code, ragged), doctest::Contains("3 x 5"));
}

TEST_CASE("encode sums ascending, skips zero coefficients and starts from the first product") {
  Matrix<float> gradient(1, 4);
  gradient << 1e8F, 1.0F, -1e8F, std::numeric_limits<float>::infinity();
  Vector<float> coefficients(4);
  coefficients << 1, 1, 1, 0;
  CHECK(encode<float>(gradient, coefficients)(0) == 0.0F);  // 1e8 + 1 rounds to 1e8; the infinity is not touched
  coefficients << 1, 0, 1, 0;
  CHECK(encode<float>(gradient, coefficients)(0) == 0.0F);
  gradient(0, 0) = -0.0F;
  coefficients << 1, 0, 0, 0;
  CHECK(std::signbit(encode<float>(gradient, coefficients)(0)));  // started from zero, the sign would be lost
}

}  // namespace
}  // namespace cerar
