#include "optimize/objective.h"

#include "coding/cyclic.h"
#include "coding/overlapped.h"
#include "coding/perturbation.h"
#include "coding/prediction.h"
#include "coding/wire.h"
#include "optimize/ansatz.h"
#include "optimize/condition_bound.h"

#include <Eigen/QR>
#include <boost/multiprecision/eigen.hpp>
#include <boost/multiprecision/mpfr.hpp>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <random>

namespace cerar {
namespace {

using Wide =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<60>, boost::multiprecision::et_off>;

Matrices<double> random_matrices(std::int64_t count, std::int64_t rows, std::int64_t columns, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  Matrices<double> result;
  for (std::int64_t k = 0; k < count; ++k) {
    result.push_back(Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return normal(engine); }));
  }
  return result;
}

template <class Scalar>
Scalar dot(const Matrices<Scalar>& a, const Matrices<Scalar>& b) {
  Scalar sum(0);
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum += a[k].cwiseProduct(b[k]).sum();
  }
  return sum;
}

template <class Scalar>
Matrices<Scalar> moved(const Matrices<Scalar>& from, const Scalar& step, const Matrices<Scalar>& direction) {
  Matrices<Scalar> to = from;
  for (std::size_t k = 0; k < to.size(); ++k) {
    to[k] += step * direction[k];
  }
  return to;
}

Eigen::MatrixXd uneven_covariance(std::int64_t workers) {
  Eigen::MatrixXd covariance = uniform_covariance<double>(workers, 0.3);
  covariance(0, 0) = 2;
  covariance(1, 0) = covariance(0, 1) = -0.4;
  return covariance;
}

constexpr NoiseEntry all_entries[] = {NoiseEntry::operations, NoiseEntry::hops, NoiseEntry::kept,
                                      NoiseEntry::quantised};

TEST_CASE("the gradient is that of finite differences in 60 digits, for every noise, own block and covariance") {
  constexpr std::uint64_t seed = 7;
  CAPTURE(seed);
  std::mt19937_64 engine(seed);
  for (const RingShape shape : {RingShape{3, 4}, RingShape{3, 6}, RingShape{4, 5}}) {
    for (const NoiseEntry entry : all_entries) {
      for (const OwnBlock own : {OwnBlock::exact, OwnBlock::included}) {
        for (const bool uneven : {false, true}) {
          ErrorModel model;
          model.shape = shape;
          model.own_block = own;
          model.first_kept_round = own == OwnBlock::included ? shape.workers - 1 : 1;
          model.noise.eta = 1e-3;
          model.entry = entry;
          model.white = uneven ? 1e-3 : 0;
          if (uneven) {
            model.noise.covariance = uneven_covariance(shape.workers);
          }
          const Matrices<double> at = random_matrices(shape.workers, model.rows(), shape.chunks, engine);
          const Matrices<double> along = random_matrices(shape.workers, model.rows(), shape.chunks, engine);
          const Objective<Wide> objective(model);
          const Wide step("1e-20");
          const auto error = [&](const Wide& h) {
            return objective.evaluate(moved(cast<Wide>(at), h, cast<Wide>(along)), false, false).error;
          };
          const Wide difference = (error(step) - error(-step)) / (2 * step);
          const Wide slope = dot(objective.evaluate(cast<Wide>(at), true, false).gradient, cast<Wide>(along));
          CAPTURE(static_cast<int>(entry));
          CAPTURE(static_cast<double>(slope));
          CHECK(static_cast<double>(abs(difference / slope - 1)) < 1e-15);
          const auto narrow = Objective<double>(model).evaluate(at, true, false);
          CHECK(dot(narrow.gradient, along) == doctest::Approx(static_cast<double>(slope)).epsilon(1e-9).scale(0));
          CHECK(narrow.error == doctest::Approx(static_cast<double>(error(Wide(0)))).epsilon(1e-9).scale(0));
        }
      }
    }
  }
}

TEST_CASE("the objective is the predicted error but for the decoder's additions, and one worker stands for all") {
  for (const RingShape shape : {RingShape{4, 12}, RingShape{5, 12}}) {
    for (const NoiseEntry entry : all_entries) {
      for (const double rho : {0.0, 0.6}) {
        const Matrices<double> encoders = overlapped_encoders<double>(shape, 0.04, 0.3);
        ErrorModel model;
        model.shape = shape;
        model.noise = {.wire = entry == NoiseEntry::quantised ? "i32" : "f32", .eta = 1e-4, .correlation = rho};
        model.entry = entry;
        const auto all = Objective<double>(model).evaluate(encoders, false, false);
        model.symmetric = true;
        CHECK(Objective<double>(model).evaluate(encoders, false, false).error ==
              doctest::Approx(all.error).epsilon(entry == NoiseEntry::quantised ? 0.2 : 1e-4).scale(0));
        Code code;
        code.shape = shape;
        code.first_kept_round = 1;
        code.noise = model.noise;
        code.encoders = encoders;
        code.decoders = all.decoders;
        CAPTURE(static_cast<int>(entry));
        // The largest encoding is smoothed, which makes integer steps up to 7 % larger than they are.
        CHECK(predict_error(code, entry).relative ==
              doctest::Approx(std::sqrt(all.error)).epsilon(entry == NoiseEntry::quantised ? 0.07 : 1e-3).scale(0));
      }
    }
  }
}

TEST_CASE("an orthogonal change of the chunks' basis and a common factor change nothing") {
  constexpr std::uint64_t seed = 11;
  CAPTURE(seed);
  std::mt19937_64 engine(seed);
  const RingShape shape{4, 9};
  ErrorModel model;
  model.shape = shape;
  model.noise = {.wire = "f32", .eta = 1e-5, .correlation = 0.2};
  const Eigen::MatrixXd mixed = random_matrices(1, 9, 9, engine).front();
  const Eigen::MatrixXd basis = Eigen::HouseholderQR<Eigen::MatrixXd>(mixed).householderQ();
  for (const NoiseEntry entry : {NoiseEntry::hops, NoiseEntry::kept, NoiseEntry::quantised}) {
    model.entry = entry;
    const Objective<double> objective(model);
    const Matrices<double> encoders = overlapped_encoders<double>(shape, 0.02, 0.2);
    Matrices<double> turned = encoders;
    Matrices<double> scaled = encoders;
    for (std::size_t w = 0; w < encoders.size(); ++w) {
      turned[w] = encoders[w] * basis;
      scaled[w] *= 37.5;
    }
    const double error = objective.evaluate(encoders, false, false).error;
    CHECK(objective.evaluate(turned, false, false).error == doctest::Approx(error).epsilon(1e-6).scale(0));
    CHECK(objective.evaluate(scaled, false, false).error == doctest::Approx(error).epsilon(1e-6).scale(0));
  }
}

TEST_CASE("R is solved stably where kappa_2 is near 1e8: double agrees with 60 digits") {
  const RingShape shape{4, 12};
  ErrorModel model;
  model.shape = shape;
  model.noise.eta = 3e-9;
  model.entry = NoiseEntry::hops;
  const Matrices<double> encoders = overlapped_encoders<double>(shape, 1.5e-4, 1e-4);
  const auto narrow = Objective<double>(model).evaluate(encoders, false, false);
  const auto wide = Objective<Wide>(model).evaluate(cast<Wide>(encoders), false, false);
  const SmoothCondition condition = smooth_condition(Objective<double>(model), Conditioned::stacked, encoders, false);
  const double largest = narrow.decoders.front().cwiseAbs().maxCoeff();
  MESSAGE(fmt::format("kappa_2 {:.3g}, largest |R| {:.3g}, error {:.4g}", std::exp(condition.log_kappa), largest,
                      std::sqrt(narrow.error)));
  CHECK(std::exp(condition.log_kappa) > 3e7);
  CHECK(largest > 1e7);
  CHECK(std::sqrt(narrow.error) == doctest::Approx(std::sqrt(static_cast<double>(wide.error))).epsilon(1e-4).scale(0));
  // What counts is that the decoder found in double is as good, judged in 60 digits.
  double worst = 0;
  for (std::size_t i = 0; i < narrow.decoders.size(); ++i) {
    const Matrix<Wide> off = wide.received[i] * narrow.decoders[i].cast<Wide>() -
                             decoding_target<Wide>(shape, Decoder::own_exact, static_cast<std::int64_t>(i));
    worst = std::max(worst, static_cast<double>(off.norm()));
  }
  CHECK(worst < 2 * std::sqrt(narrow.error * 48));
}

TEST_CASE("U_w = U_0 T^w: turns of the cyclic code and of the overlapped one with one and two heads") {
  for (const RingShape shape : {RingShape{4, 16}, RingShape{5, 17}, RingShape{6, 20}, RingShape{3, 11}}) {
    const Matrices<double> cyclic = cyclic_encoders<double>(shape, 0.1);
    const Matrices<double> one = overlapped_encoders<double>(shape, 0.1, 0.2);
    const Matrices<double> two = two_headed_encoders<double>(shape, 0.3, 0.1, 0.2);
    for (std::int64_t w = 0; w < shape.workers; ++w) {
      const auto k = static_cast<std::size_t>(w);
      CHECK((cyclic[0] * cyclic_turn<double>(shape.workers, shape.chunks, w) - cyclic[k]).norm() < 1e-13);
      CHECK((one[0] * overlapped_turn<double>(shape, 1, w) - one[k]).norm() < 1e-13);
      CHECK((two[0] * overlapped_turn<double>(shape, 2, w) - two[k]).norm() < 1e-13);
      const Eigen::MatrixXd turn = overlapped_turn<double>(shape, 2, w);
      CHECK((turn * turn.transpose() - Eigen::MatrixXd::Identity(shape.chunks, shape.chunks)).norm() < 1e-13);
    }
  }
}

TEST_CASE("every ansatz hands gradients back, and its preconditioner makes the Hessian for fixed R the identity") {
  constexpr std::uint64_t seed = 5;
  CAPTURE(seed);
  for (const RingShape shape : {RingShape{3, 6}, RingShape{4, 10}}) {
    ErrorModel model;
    model.shape = shape;
    model.noise.eta = 1e-3;
    model.entry = NoiseEntry::hops;
    std::vector<Eigen::SparseMatrix<double>> turns;
    for (std::int64_t w = 0; w < shape.workers; ++w) {
      turns.push_back(overlapped_turn<double>(shape, 1, w));
    }
    const Matrices<double> start = overlapped_encoders<double>(shape, 0.1, 0.3);
    const Perturbation<double> gaussian = gaussian_perturbation<double>(shape, 3);
    const Perturbation<double> shift = shift_perturbation<double>(shape);
    std::vector<std::unique_ptr<Ansatz>> ansatzes;
    ansatzes.push_back(make_turned_ansatz(start, turns));
    ansatzes.push_back(make_free_ansatz(start));
    ansatzes.push_back(make_perturbation_ansatz({gaussian.base, 0.1 * gaussian.direction}, all_rounds(shape)));
    ansatzes.push_back(make_perturbation_ansatz({shift.base, 0.1 * shift.direction}, all_rounds(shape)));
    const Objective<double> objective(model);
    for (const auto& ansatz : ansatzes) {
      std::mt19937_64 engine(seed);
      std::normal_distribution<double> normal;
      const Eigen::VectorXd x = ansatz->start();
      const Eigen::VectorXd along = Eigen::VectorXd::NullaryExpr(x.size(), [&] { return normal(engine); });
      const auto here = objective.evaluate(ansatz->encoders(x), true, true);
      const auto error = [&](double h) {
        return objective.evaluate(ansatz->encoders(x + h * along), false, false).error;
      };
      const double step = 1e-6;
      CHECK(ansatz->pull_back(x, here.gradient).dot(along) ==
            doctest::Approx((error(step) - error(-step)) / (2 * step)).epsilon(1e-4).scale(0));
      // For fixed R the error of a step s in y is that of || sum_k dM_k R ||^2 = || s ||^2.
      const Eigen::VectorXd by_x = ansatz->preconditioner(x, here.curvature).step(along);
      const Matrices<double> far = ansatz->encoders(x + 1e-7 * by_x);
      double bent = 0;
      const Matrices<double> before = ansatz->encoders(x);
      for (std::size_t w = 0; w < far.size(); ++w) {
        const Eigen::MatrixXd change = (far[w] - before[w]) / 1e-7;
        bent += (change.transpose() * here.curvature[w] * change).trace();
      }
      CHECK(bent == doctest::Approx(along.squaredNorm()).epsilon(1e-3).scale(0));
    }
  }
}

TEST_CASE("the smooth condition number bounds the true one and has its own gradient") {
  const RingShape shape{4, 12};
  ErrorModel model;
  model.shape = shape;
  model.first_kept_round = 3;
  model.symmetric = true;
  const Objective<double> objective(model);
  const Matrices<double> at = cyclic_encoders<double>(shape, 0.1);
  constexpr std::uint64_t seed = 9;
  CAPTURE(seed);
  std::mt19937_64 engine(seed);
  const Matrices<double> along = random_matrices(4, model.rows(), 12, engine);
  for (const Conditioned which : {Conditioned::stacked, Conditioned::windows}) {
    const SmoothCondition here = smooth_condition(objective, which, at, true);
    CHECK(here.smooth >= here.log_kappa);
    CHECK(here.smooth <= here.log_kappa + 2 * std::log(14.0) / 16);
    const double step = 1e-7;
    const double difference = (smooth_condition(objective, which, moved(at, step, along), false).smooth -
                               smooth_condition(objective, which, moved(at, -step, along), false).smooth) /
                              (2 * step);
    CHECK(dot(here.gradient, along) == doctest::Approx(difference).epsilon(1e-4).scale(0));
  }
}

}  // namespace
}  // namespace cerar
