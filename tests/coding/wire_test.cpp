#include "coding/wire.h"

#include "coding/covariance.h"
#include "coding/cyclic.h"
#include "coding/decoding.h"
#include "coding/noise.h"
#include "coding/overlapped.h"
#include "coding/prediction.h"
#include "coding/received.h"
#include "coding/reference.h"
#include "coding/simulation.h"
#include "coding/wire_reference.h"
#include "tests/coding/support.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cerar {
namespace {

/// The encoders with the decoders that are best for them under the wire's noise.
Code code_for(const std::string& wire, const RingShape& shape, std::int64_t first, Matrices<double> encoders,
              const Eigen::MatrixXd& covariance = {}) {
  Code code;
  code.shape = shape;
  code.first_kept_round = first;
  code.encoders = std::move(encoders);
  code.noise = {wire, wire_eta(wire, shape.workers), 0, covariance};
  const NoiseEntry entry = noise_entry_of(wire);
  const NoiseSources sources = noise_sources(code.encoders, code.noise, entry);
  for (std::int64_t i = 0; i < shape.workers; ++i) {
    const auto received = received_matrix<double>(code.encoders, code.decoder, i, first);
    const Eigen::MatrixXd factor = noise_factor(sources, received, code.decoder, i, first, code.noise, entry);
    code.decoders.push_back(optimal_decoder<double>(received, factor, decoding_target<double>(shape, code.decoder, i),
                                                    worker_covariance(code.noise, shape.workers))
                                .decoder);
  }
  return code;
}

/// Node spacing near the best for codes decoded from the last c vectors.
double spacing(const std::string& wire, const RingShape& shape) {
  return std::pow(wire_eta(wire, shape.workers), 1.0 / static_cast<double>(1 + shape.conditioning_exponent()));
}

Code cyclic_code(const std::string& wire, const RingShape& shape, double relative_spacing = 1) {
  return code_for(wire, shape, shape.workers - 1,
                  cyclic_encoders<double>(shape, relative_spacing * spacing(wire, shape)));
}

/// Relative, also for small numbers: doctest's own scale is 1.
doctest::Approx within(double tolerance, double value) { return doctest::Approx(value).epsilon(tolerance).scale(0); }

/// Compares the prediction with the mean of five simulations: an integer wire's step hangs on the largest of all
/// encodings, which differs from draw to draw.
void check_prediction(const Code& code, std::string_view what) {
  constexpr std::uint64_t seed = 21;
  const double predicted = predict_error(code).relative;
  const double simulated = simulate_mean(rounded_to_wire(code), 240'000, seed, 5);
  MESSAGE(fmt::format("{:>4} ({}, {}), {}: predicted {:.4g}, simulated {:.4g} ({:+.1f} %), seeds {} to {}",
                      code.noise.wire, code.shape.workers, code.shape.chunks, what, predicted, simulated,
                      100 * (simulated / predicted - 1), seed, seed + 4));
  CHECK(simulated == within(0.1, predicted));
}

TEST_CASE("every other wire than float32: what is predicted is what its arithmetic gives") {
  for (const std::string wire : {"f16", "bf16", "i16", "i32"}) {
    for (const RingShape shape : {RingShape{4, 5}, {4, 8}, {4, 12}, {8, 16}, {8, 20}}) {
      check_prediction(cyclic_code(wire, shape), "cyclic");
      check_prediction(cyclic_code(wire, shape, 0.2), "cyclic, a fifth of the spacing");  // noise is nearly all
    }
    // Rows of two sizes, the smaller ones behind the larger.
    const RingShape shape{4, 12};
    const double eta = wire_eta(wire, shape.workers);
    check_prediction(
        code_for(wire, shape, 1, overlapped_encoders<double>(shape, std::pow(eta, 1.0 / 3), std::sqrt(eta))),
        "overlapped");
  }
}

TEST_CASE("the peak of what is encoded is about kEncodingPeak times its rms") {
  for (const RingShape shape : {RingShape{4, 5}, {4, 12}, {8, 24}, {16, 48}}) {
    const auto encoders = cyclic_encoders<double>(shape, 1e-3);
    double square = 0;  // the largest mean square of any encoding
    double peaks = 0;
    for (const std::uint64_t seed : {31U, 32U, 33U, 34U, 35U}) {
      const auto gradients = random_gradients<double>(shape, 240'000 / shape.chunks, 0, seed);
      double peak = 0;
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        for (Eigen::Index row = 0; row < encoders[i].rows(); ++row) {
          const Vector<double> delta = encode<double>(gradients[i], encoders[i].row(row).transpose());
          peak = std::max(peak, delta.cwiseAbs().maxCoeff());
          square = std::max(square, encoders[i].row(row).squaredNorm());
        }
      }
      peaks += peak / 5;
    }
    MESSAGE(fmt::format("({}, {}), d = 240,000: peak {:.3f} times the rms, mean of seeds 31 to 35", shape.workers,
                        shape.chunks, peaks / std::sqrt(square)));
    CHECK(peaks / std::sqrt(square) == within(0.06, kEncodingPeak));
  }
}

TEST_CASE("eta of half-precision words is the rms error of rounding them") {
  const auto rms = [](auto rounded) {
    std::mt19937_64 engine(24);
    double squares = 0;
    const int count = 200'000;
    for (int k = 0; k < count; ++k) {
      const double x = std::exp2(static_cast<double>(engine() >> 11U) * 0x1p-53);
      squares += std::pow(rounded(x) / x - 1, 2);
    }
    return std::sqrt(squares / count);
  };
  const auto half = [](double x) { return static_cast<double>(Eigen::half(static_cast<float>(x))); };
  const auto brain = [](double x) { return static_cast<double>(Eigen::bfloat16(static_cast<float>(x))); };
  CHECK(rms(half) == within(0.01, wire_eta("f16", 4)));
  CHECK(rms(brain) == within(0.01, wire_eta("bf16", 4)));
}

/// ghat_worker on an integer wire, each kept vector summed directly (docs/theory.md, eqs. 2, 3) in an order that is
/// drawn, instead of being carried round the ring.
Eigen::MatrixXd directly(const Code& code, const Matrices<float>& gradients, std::int64_t worker, std::uint64_t seed) {
  const std::int64_t n = code.shape.workers;
  std::mt19937_64 engine(seed);
  std::vector<Matrices<double>> deltas;  // by worker, by round
  double peak = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    deltas.emplace_back();
    for (Eigen::Index row = 0; row < code.encoders[i].rows(); ++row) {
      deltas[i].push_back(encode<double>(gradients[i].cast<double>(), code.encoders[i].row(row).transpose()));
      peak = std::max(peak, deltas[i].back().cwiseAbs().maxCoeff());
    }
  }
  const double largest = code.noise.wire == "i16" ? 32767 : 2147483647;
  const double step = peak / std::floor(largest / static_cast<double>(n));
  Eigen::MatrixXd kept(gradients.front().rows(), code.kept());
  for (std::int64_t column = 0; column < code.kept(); ++column) {
    const std::int64_t t = code.first_kept_round + column;
    std::vector<std::int64_t> carriers(static_cast<std::size_t>(std::min(t, n - 1)));
    std::iota(carriers.begin(), carriers.end(), 0);
    std::shuffle(carriers.begin(), carriers.end(), engine);
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(kept.rows());
    for (const std::int64_t k : carriers) {
      const Matrix<double>& delta =
          deltas[static_cast<std::size_t>(wrap(worker - 1 - k, n))][static_cast<std::size_t>(t - 1 - k)];
      sum += (delta / step).array().rint().matrix();
    }
    kept.col(column) = step * sum;
  }
  return decode<double>(code, static_cast<std::size_t>(worker),
                        gradients[static_cast<std::size_t>(worker)].cast<double>(), kept);
}

TEST_CASE("integer words: the order in which workers add does not matter, to the last bit") {
  for (const std::string wire : {"i16", "i32"}) {
    for (const RingShape shape : {RingShape{3, 7}, {4, 12}, {5, 8}}) {
      const Code code = cyclic_code(wire, shape);
      const auto gradients = random_gradients<float>(shape, 200, 0, 25);
      const Matrices<double> results = wire_all_reduce(code, gradients);
      for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
        for (const std::uint64_t seed : {26U, 27U}) {
          CAPTURE(seed);
          CHECK(results[static_cast<std::size_t>(worker)] == directly(code, gradients, worker, seed));
        }
      }
    }
  }
}

TEST_CASE("integer words can't overflow, not even where all workers' encodings are the largest at once") {
  for (const std::int64_t workers : {2, 3, 5, 16, 24, 1000}) {
    for (const std::string name : {"i16", "i32"}) {
      const Wire& wire = find_wire(name);
      const double word = std::exp2(wire.bits - 1) - 1;
      CHECK(static_cast<double>(workers * wire.levels(workers)) <= word);
      CHECK(static_cast<double>(workers * (wire.levels(workers) + 1)) > word);  // and no level is wasted
    }
  }
  // Every worker sends the same constant through the exact ring: each sum of N is N times the largest word.
  for (const std::string wire : {"i16", "i32"}) {
    for (const std::int64_t workers : {3, 4, 7}) {
      Code code = test::integer_code({workers, workers}, Decoder::own_exact, 1, 28);
      for (Eigen::MatrixXd& encoder : code.encoders) {
        encoder.setOnes();
      }
      code.noise.wire = wire;
      const Matrices<float> gradients(static_cast<std::size_t>(workers), Matrix<float>::Constant(10, workers, 0.7F));
      CHECK_NOTHROW(static_cast<void>(wire_all_reduce(code, gradients)));
    }
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(wire_eta("i16", 40'000)), doctest::Contains("take i32 or f32"),
                       std::invalid_argument);
}

TEST_CASE("integer words: gradients of zeros give zeros, and those that are not finite are refused") {
  const Code code = cyclic_code("i16", {4, 8});
  Matrices<float> gradients(4, Matrix<float>::Zero(3, 8));
  for (const Matrix<double>& result : wire_all_reduce(code, gradients)) {
    CHECK(result.isZero(0));
  }
  gradients[2](1, 5) = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(static_cast<void>(wire_all_reduce(code, gradients)),
                       doctest::Contains("worker 2's gradient is not finite"), std::invalid_argument);
}

TEST_CASE("half-precision words: every message is one, and what was added is what is removed") {
  const Code code = cyclic_code("f16", {4, 8});
  const auto gradients = random_gradients<float>(code.shape, 100, 0, 29);
  const auto word = [](const Vector<float>& sum) { return Vector<float>(sum.cast<Eigen::half>().cast<float>()); };
  int rounded = 0;
  reference_rounds<float>(
      code, gradients,
      [&](const Round<float>& round) {
        for (std::size_t i = 0; i < 4; ++i) {
          CHECK(round.sent[i] == word(round.sent[i]));
          rounded += round.of_others[i] != word(round.of_others[i]) ? 1 : 0;
          if (round.number >= 4) {
            const Vector<float> own =
                encode<float>(gradients[i], code.encoders[i].row(round.number - 4).transpose().cast<float>());
            CHECK(round.of_others[i] == round.received[i] - own);
          }
        }
      },
      word);
  CHECK(rounded > 0);  // local arithmetic is float32
}

TEST_CASE("the f32 wire is float32 arithmetic throughout") {
  const Code code = cyclic_code("f32", {4, 8});
  const auto gradients = random_gradients<float>(code.shape, 50, 0, 30);
  const auto expected = reference_all_reduce<float>(code, gradients);
  const Matrices<double> results = wire_all_reduce(code, gradients);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(results[i] == expected[i].cast<double>());
  }
}

TEST_CASE("U and R are rounded to float32 for floating-point words only") {
  CHECK(hash(rounded_to_wire(cyclic_code("i32", {4, 8}))) == hash(cyclic_code("i32", {4, 8})));
  for (const std::string wire : {"f32", "f16", "bf16"}) {
    const Code code = cyclic_code(wire, {4, 8});
    CHECK(hash(rounded_to_wire(code)) != hash(code));
    CHECK(rounded_to_wire(code).encoders[1] == code.encoders[1].cast<float>().cast<double>());
  }
}

TEST_CASE("on an i32 wire, rounding U and R to float32 would cost more than the wire does") {
  const Code code = cyclic_code("i32", {4, 8});
  Code rounded = code;
  rounded.noise.wire = "f32";
  rounded = rounded_to_wire(rounded);
  rounded.noise.wire = "i32";
  const double exact = predict_error(code).relative;
  const double with_floats = predict_error(rounded).relative;
  MESSAGE(fmt::format("(4, 8) on i32: {:.3g}, with U and R in float32 {:.3g}", exact, with_floats));
  CHECK(with_floats > 2 * exact);
}

TEST_CASE("a lone worker and a pair have their sum on every wire") {
  for (const std::string_view wire : wire_names()) {
    for (const RingShape shape : {RingShape{1, 1}, {1, 3}, {2, 2}, {2, 5}}) {
      CAPTURE(wire);
      Matrices<double> encoders(static_cast<std::size_t>(shape.workers),
                                Eigen::MatrixXd::Identity(shape.rounds(), shape.chunks));
      const Code code = code_for(std::string(wire), shape, 1, encoders);
      const double expected = shape.workers == 1 ? 0 : wire_eta(wire, shape.workers);
      CHECK(predict_error(code).relative <= 3 * expected);
      CHECK(simulate(rounded_to_wire(code), 100, 33).relative <= 3 * expected);
    }
  }
}

TEST_CASE("an unknown wire is refused with the names of the others") {
  CHECK_THROWS_WITH_AS(static_cast<void>(wire_eta("f8", 4)),
                       "wire \"f8\" is unknown; the known ones are f32, f16, bf16, i16, i32", std::invalid_argument);
  Code code = cyclic_code("f32", {4, 8});
  code.noise.wire = "f64";
  CHECK_THROWS_WITH_AS(validate(code), doctest::Contains("\"f64\" is unknown"), std::invalid_argument);
}

TEST_CASE("the mean over seeds is that of single simulations") {
  const Code code = cyclic_code("f32", {4, 8});
  double sum = 0;
  for (const std::uint64_t seed : {5U, 6U, 7U}) {
    for (const double worker : simulate(code, 126, seed).workers) {
      sum += worker / 12;
    }
  }
  CHECK(simulate_mean(code, 1001, 5, 3) == within(1e-12, sum));  // 1001 values: 126 a chunk
}

/// Workers of different strength, alike to different degrees.
Eigen::MatrixXd uneven_covariance() {
  Eigen::MatrixXd covariance(4, 4);
  covariance << 1.5, 0.6, 0.2, 0.1, 0.6, 1.0, 0.3, -0.2, 0.2, 0.3, 0.8, 0.25, 0.1, -0.2, 0.25, 0.7;
  return covariance;
}

TEST_CASE("a measured covariance: gradients have it, and prediction and simulation agree") {
  const Eigen::MatrixXd covariance = uneven_covariance();
  const auto gradients = random_gradients<double>({4, 8}, 50'000, NoiseModel{"f32", 0, 0, covariance}, 31);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      const double measured = gradients[i].cwiseProduct(gradients[j]).sum() / (8 * 50'000);
      CHECK(measured == doctest::Approx(covariance(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)))
                            .epsilon(0.01)
                            .scale(1));
    }
  }
  for (const std::string wire : {"f32", "bf16", "i16"}) {
    // The largest encodings are the strongest worker's alone, so their peak is lower than that of all four.
    const double tolerance = wire == "i16" ? 0.15 : 0.05;
    const RingShape shape{4, 8};
    const Code code = code_for(wire, shape, 3, cyclic_encoders<double>(shape, spacing(wire, shape)), covariance);
    const ErrorPrediction prediction = predict_error(code);
    const SimulatedError simulated = simulate(code, 30'000, 32);
    CHECK(simulated.relative == within(tolerance, prediction.relative));
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(simulated.workers[i] == within(tolerance, prediction.workers[i].relative));
    }
  }
}

TEST_CASE("uniform correlation, written out as a covariance, predicts the same") {
  Code code = cyclic_code("f32", {4, 8});
  code.noise.correlation = 0.3;
  const double by_rho = predict_error(code).relative;
  code.noise.covariance = uniform_covariance<double>(4, 0.3);
  CHECK(predict_error(code).relative == within(1e-12, by_rho));
}

}  // namespace
}  // namespace cerar
