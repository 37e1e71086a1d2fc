#include "coding/prediction.h"

#include "coding/received.h"
#include "coding/reference.h"
#include "coding/simulation.h"
#include "tests/coding/support.h"

#include <Eigen/QR>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>

namespace cerar {
namespace {

TEST_CASE("codes made elsewhere: their stated predictions come out to six digits") {
  for (const std::string& name : test::reference_code_names()) {
    CAPTURE(name);
    test::ReferenceCode reference = test::read_reference_code(name);
    reference.code.noise.eta = 1e-7;
    const NoiseEntry entry = name.starts_with("overlapped") ? NoiseEntry::hops : NoiseEntry::kept;
    CHECK(predict_error(reference.code, entry).relative == doctest::Approx(reference.predicted).epsilon(1e-6).scale(0));
  }
}

TEST_CASE("codes made elsewhere: their stated float32 errors, and our own prediction of them") {
  for (const std::string& name : test::reference_code_names()) {
    test::ReferenceCode reference = test::read_reference_code(name);
    reference.code.noise.eta = 2.53e-8;
    const double simulated = simulate(reference.code, 4000, 7).relative;
    const double predicted = predict_error(reference.code).relative;
    MESSAGE(fmt::format("{}: simulated {:.4g} (stated {:.4g}, {:+.1f} %), predicted {:.4g} ({:+.1f} %), seed 7", name,
                        simulated, reference.simulated, 100 * (simulated / reference.simulated - 1), predicted,
                        100 * (predicted / simulated - 1)));
    // The program that made them multiplied and added in one rounding; with cyclic_8_16, whose encodings are sums of 16
    // products, our two roundings cost 4 % more. The others are within 5 %.
    CHECK(simulated == doctest::Approx(reference.simulated).epsilon(name == "cyclic_8_16" ? 0.08 : 0.05).scale(0));
    CHECK(predicted == doctest::Approx(simulated).epsilon(0.15).scale(0));
  }
}

TEST_CASE("in double, a result is what result_map says, and the distance to the sum is the deterministic error") {
  for (const std::string name : {"overlapped_4_12_polished", "cyclic_4_5"}) {
    CAPTURE(name);
    const Code code = rounded_to_wire(test::read_reference_code(name).code);
    const RingShape& shape = code.shape;
    const Matrices<double> gradients = random_gradients<double>(shape, 20000, 0, 13);
    Eigen::MatrixXd all(20000, shape.workers * shape.chunks);
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(20000, shape.chunks);
    for (std::int64_t w = 0; w < shape.workers; ++w) {
      all.middleCols(w * shape.chunks, shape.chunks) = gradients[static_cast<std::size_t>(w)];
      sum += gradients[static_cast<std::size_t>(w)];
    }
    const Matrices<double> results = reference_all_reduce<double>(code, gradients);
    const ErrorPrediction prediction = predict_error(code);  // eta = 0: no noise
    for (std::int64_t i = 0; i < shape.workers; ++i) {
      const Eigen::MatrixXd& result = results[static_cast<std::size_t>(i)];
      CHECK((result - all * result_map(code, i)).norm() / sum.norm() < 1e-9);
      const WorkerError& worker = prediction.workers[static_cast<std::size_t>(i)];
      CHECK(worker.noise.isZero(0));
      for (Eigen::Index chunk = 0; chunk < shape.chunks; ++chunk) {
        const double measured = (result - sum).col(chunk).norm() / std::sqrt(20000.0);
        CHECK(measured == doctest::Approx(worker.deterministic(chunk)).epsilon(0.05).scale(1e-7));
      }
    }
  }
}

TEST_CASE("in float32, the noise predicted by chunk is the distance from result_map") {
  Code code = test::read_reference_code("overlapped_4_12_closed_form").code;
  code.noise.eta = 2.53e-8;
  const Code rounded = rounded_to_wire(code);
  const std::int64_t values = 4000;
  const Matrices<float> gradients = random_gradients<float>(code.shape, values, 0, 29);
  Eigen::MatrixXd all(values, 48);
  for (std::int64_t w = 0; w < 4; ++w) {
    all.middleCols(w * 12, 12) = gradients[static_cast<std::size_t>(w)].cast<double>();
  }
  const Matrices<float> results = reference_all_reduce<float>(code, gradients);
  const ErrorPrediction prediction = predict_error(code);
  for (std::int64_t i = 0; i < 4; ++i) {
    const Eigen::MatrixXd off = results[static_cast<std::size_t>(i)].cast<double>() - all * result_map(rounded, i);
    for (Eigen::Index chunk = 0; chunk < 12; ++chunk) {
      const double measured = off.col(chunk).norm() / std::sqrt(static_cast<double>(values));
      // The head's chunks are plain sums of a few values; for them the model is up to a quarter too high.
      const double tolerance = chunk < code.shape.workers ? 0.3 : 0.15;
      const double predicted = prediction.workers[static_cast<std::size_t>(i)].noise(chunk);
      CHECK(measured == doctest::Approx(predicted).epsilon(tolerance).scale(0));
    }
  }
}

TEST_CASE("correlated gradients: prediction and simulation agree, and the error falls") {
  Code code = test::read_reference_code("overlapped_4_12_polished").code;
  code.noise.eta = 2.53e-8;
  const double independent = predict_error(code).relative;
  code.noise.correlation = 0.9;
  const double predicted = predict_error(code).relative;
  CHECK(predicted < 0.6 * independent);
  CHECK(simulate(code, 4000, 3).relative == doctest::Approx(predicted).epsilon(0.15).scale(0));
}

TEST_CASE("gradients are drawn as the model says") {
  const Matrices<double> gradients = random_gradients<double>({2, 3}, 40000, 0.6, 5);
  const double count = 3 * 40000;
  CHECK(gradients[0].squaredNorm() / count == doctest::Approx(1).epsilon(0.02));
  CHECK(gradients[1].squaredNorm() / count == doctest::Approx(1).epsilon(0.02));
  CHECK(gradients[0].cwiseProduct(gradients[1]).sum() / count == doctest::Approx(0.6).epsilon(0.03));
  CHECK(std::abs(gradients[0].col(0).dot(gradients[0].col(1))) / 40000 < 0.03);
}

/// The paper's decoder as it is usually read keeps s_{i,N} and r_{i,N} .. r_{i,L}: the own block of M_i holds u_{i,N}
/// twice.
TEST_CASE("with c > N the paper's decoder cannot have Phi below N, whatever U and R are") {
  for (const RingShape shape : {RingShape{4, 5}, {4, 8}, {3, 7}}) {
    const Code code = test::integer_code(shape, Decoder::paper, shape.workers - 1, 91);
    for (std::int64_t i = 0; i < shape.workers; ++i) {
      const auto received = received_matrix<double>(code.encoders, Decoder::paper, i, shape.workers - 1);
      const Eigen::MatrixXd own = received.middleRows(i * shape.chunks, shape.chunks);
      CHECK(own.col(0) == own.col(shape.workers));
      CHECK(own.colPivHouseholderQr().rank() < shape.chunks);  // so || own R - I ||^2 >= 1
    }
    CHECK(phi(code) >= static_cast<double>(shape.workers));
  }
}

}  // namespace
}  // namespace cerar
