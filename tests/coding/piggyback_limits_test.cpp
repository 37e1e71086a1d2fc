// What the piggyback ring does badly, measured (docs/piggyback.md, "Limits").
#include "coding/piggyback_reference.h"
#include "coding/simulation.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <vector>

namespace cerar {

namespace {

constexpr RingShape kShape{4, 32};
constexpr std::int64_t kValues = 4000;

PiggybackCode code() { return make_piggyback_code(kShape, {.eta = 2.53e-8}); }

/// Error of the elements for which chosen(x, chunk), over those elements' norm, rms over the workers.
template <class Scalar, class Choice>
double error_of(const Matrices<Scalar>& gradients, const Matrices<Scalar>& results, const Choice& chosen) {
  double error = 0;
  double norm = 0;
  for (Eigen::Index chunk = 0; chunk < kShape.chunks; ++chunk) {
    for (Eigen::Index x = 0; x < kValues; ++x) {
      if (!chosen(x, chunk)) {
        continue;
      }
      double sum = 0;
      for (const Matrix<Scalar>& gradient : gradients) {
        sum += static_cast<double>(gradient(x, chunk));
      }
      for (const Matrix<Scalar>& result : results) {
        error += std::pow(static_cast<double>(result(x, chunk)) - sum, 2);
        norm += sum * sum;
      }
    }
  }
  return std::sqrt(error / norm);
}

/// Between 1 and 1e-3.
double wave(double phase) { return std::pow(10, -1.5 + 1.5 * std::sin(phase)); }

bool all(Eigen::Index, Eigen::Index) { return true; }

}  // namespace

TEST_CASE("small elements beside large ones of the neighbouring group lose precision, though the chunks are alike") {
  auto gradients = random_gradients<float>(kShape, kValues, 0, 1);
  const auto small = [](Eigen::Index x, Eigen::Index chunk) { return (x + chunk / kShape.workers) % 2 == 0; };
  for (Matrix<float>& gradient : gradients) {
    for (Eigen::Index chunk = 0; chunk < kShape.chunks; ++chunk) {
      for (Eigen::Index x = 0; x < kValues; ++x) {
        gradient(x, chunk) *= small(x, chunk) ? 1e-3F : 1.0F;
      }
    }
  }
  const auto results = piggyback_reference<float>(code(), gradients);
  const double whole = error_of(gradients, results, all);
  const double lost = error_of(gradients, results, small);
  MESSAGE(fmt::format("elements 1000 times smaller than their neighbours': error {:.3g} %, of all {:.3g} %", 100 * lost,
                      100 * whole));
  CHECK(whole < 2e-4);
  CHECK(lost > 0.02);
  CHECK(lost < 0.2);
}

TEST_CASE("scales that vary inside a slice: contiguous chunks, and chunks of every c-th line of 16 values") {
  // Element n of the slice is element position(n).x of chunk position(n).chunk.
  struct Position {
    Eigen::Index x, chunk;
  };
  const auto contiguous = [](Eigen::Index n) { return Position{n % kValues, n / kValues}; };
  const auto lines = [](Eigen::Index n) {
    const Eigen::Index line = n / 16;
    return Position{line / kShape.chunks * 16 + n % 16, line % kShape.chunks};
  };
  struct Profile {
    const char* name;
    double (*scale)(Eigen::Index n);
  };
  const auto own_error = [](const Profile& profile, const auto& position) {
    auto gradients = random_gradients<float>(kShape, kValues, 0, 1);
    Matrix<double> scale(kValues, kShape.chunks);
    for (Eigen::Index n = 0; n < kValues * kShape.chunks; ++n) {
      scale(position(n).x, position(n).chunk) = profile.scale(n);
    }
    Matrix<double> sum = Matrix<double>::Zero(kValues, kShape.chunks);
    for (Matrix<float>& gradient : gradients) {
      gradient = gradient.cwiseProduct(scale.cast<float>());
      sum += gradient.cast<double>();
    }
    double error = 0;  // of every element against its own scale
    for (const Matrix<float>& result : piggyback_reference<float>(code(), gradients)) {
      error += (result.cast<double>() - sum).cwiseQuotient(scale).squaredNorm();
    }
    return std::sqrt(error / static_cast<double>(kShape.workers * kShape.workers * kShape.chunks * kValues));
  };
  const Profile profiles[] = {
      {"1 to 1e-3 in waves of 5000", [](Eigen::Index n) { return wave(static_cast<double>(n) * 6.283185 / 5000); }},
      {"rows of 784, 1 to 1e-3 along a row",
       [](Eigen::Index n) { return wave(static_cast<double>(n % 784) * 6.283185 / 784); }},
      {"1 and 1e-3 in turn, 4100 values each", [](Eigen::Index n) { return n / 4100 % 2 == 0 ? 1.0 : 1e-3; }},
      {"1 and 1e-3 in turn, 300 values each", [](Eigen::Index n) { return n / 300 % 2 == 0 ? 1.0 : 1e-3; }},
      {"1 and 1e-3 in turn, 64 values each", [](Eigen::Index n) { return n / 64 % 2 == 0 ? 1.0 : 1e-3; }}};
  for (const Profile& profile : profiles) {
    const double one = own_error(profile, contiguous);
    const double other = own_error(profile, lines);
    MESSAGE(fmt::format("{}: error of an element against its own scale {:.3g} % contiguous, {:.3g} % in lines",
                        profile.name, 100 * one, 100 * other));
    CHECK(one < 0.2);
    CHECK(other < 0.2);
  }
}

TEST_CASE("sums that nearly cancel have an error relative to their terms") {
  auto gradients = random_gradients<float>(kShape, kValues, 0, 1);
  Matrix<float> others = Matrix<float>::Zero(kValues, kShape.chunks);
  for (std::size_t worker = 0; worker + 1 < gradients.size(); ++worker) {
    others += gradients[worker];
  }
  gradients.back() = 1e-3F * gradients.back() - others;
  const double error = error_of(gradients, piggyback_reference<float>(code(), gradients), all);
  MESSAGE(fmt::format("sums 1000 times smaller than their terms: error {:.3g} %", 100 * error));
  CHECK(error > 0.02);
  CHECK(error < 0.5);
}

TEST_CASE("contamination changes sign with d: two operations of opposite sign cancel it to second order") {
  const auto gradients = random_gradients<double>(kShape, kValues, 0, 1);
  const auto plus = piggyback_reference<double>(code(), gradients, 1);
  const auto minus = piggyback_reference<double>(code(), gradients, -1);
  Matrices<double> mean;
  for (std::size_t worker = 0; worker < plus.size(); ++worker) {
    mean.emplace_back((plus[worker] + minus[worker]) / 2);
  }
  const double one = error_of(gradients, plus, all);
  const double two = error_of(gradients, mean, all);
  MESSAGE(
      fmt::format("in double, so without rounding: one sign {:.3g} %, mean of both {:.3g} %", 100 * one, 100 * two));
  CHECK(two < 0.002 * one);
}

}  // namespace cerar
