#include "optimize/fit.h"

#include "coding/prediction.h"
#include "coding/simulation.h"
#include "coding/wire.h"
#include "optimize/family.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <stdexcept>

namespace cerar {
namespace {

FitProblem problem(std::int64_t workers, std::int64_t chunks, const std::string& construction = "overlapped") {
  FitProblem p;
  p.shape = {workers, chunks};
  p.construction = construction;
  return p;
}

TEST_CASE("the errors that were promised, simulated in float32 and predicted within 15 %") {
  struct Promise {
    std::int64_t workers;
    std::int64_t chunks;
    const char* construction;
    double at_most;  ///< relative
  };
  for (const Promise& promise : {Promise{4, 12, "overlapped", 0.00022},
                                 {8, 24, "overlapped", 0.00030},
                                 {4, 12, "cyclic", 0.0026},
                                 {4, 5, "overlapped", 0.00016},
                                 {4, 8, "overlapped", 0.00019},
                                 {4, 16, "overlapped", 0.00205},
                                 {8, 16, "overlapped", 0.00024},
                                 {8, 20, "overlapped", 0.00027},
                                 {4, 8, "cyclic", 0.0002},
                                 {8, 20, "cyclic", 0.0037},
                                 {4, 8, "mpc-shift", 0.0003},
                                 {4, 12, "mpc", 0.0065}}) {
    FitOptions options;
    options.starts = 3;
    options.draws = 3;
    const FitResult result = fit(problem(promise.workers, promise.chunks, promise.construction), options);
    const double simulated = simulate(result.code, 2000, 17).relative;
    const double predicted = result.code.predicted_relative_error;
    MESSAGE(fmt::format("{} ({}, {}): predicted {:.4f} %, simulated {:.4f} % (seed 17), {} codes in {:.2f} s",
                        promise.construction, promise.workers, promise.chunks, 100 * predicted, 100 * simulated,
                        result.evaluations, result.seconds));
    CHECK(simulated <= promise.at_most);
    CHECK(predicted == doctest::Approx(simulated).epsilon(0.15));
    CHECK(result.phi == doctest::Approx(phi(result.code)));
    CHECK(result.kappa_max == doctest::Approx(kappa_max(result.code)));
  }
}

TEST_CASE("a fitted code says where it came from and is stored as the wire has it") {
  const FitResult result = fit(problem(4, 12));
  const Code& code = result.code;
  CHECK_NOTHROW(validate(code));
  CHECK(code.construction.name == "overlapped");
  CHECK(code.construction.parameters.size() == 2);
  CHECK(code.first_kept_round == 1);
  CHECK(code.noise.wire == "f32");
  CHECK(code.noise.eta == wire_eta("f32", 4));
  CHECK(hash(rounded_to_wire(code)) == hash(code));
  // Every worker has the same error, and a chain's chunks are decoded from that chain's messages alone.
  const ErrorPrediction prediction = predict_error(code);
  for (const WorkerError& worker : prediction.workers) {
    CHECK(worker.relative == doctest::Approx(prediction.relative).epsilon(1e-3));
  }
  CHECK((code.encoders[0].array() != 0).count() == 14 * 3);
  CHECK((code.decoders[0].array() != 0).count() <= 14 * 3);
}

TEST_CASE("fits repeat bit by bit, and the seed matters where something is drawn") {
  CHECK(hash(fit(problem(4, 12)).code) == hash(fit(problem(4, 12)).code));
  FitOptions one;
  one.draws = 2;
  FitOptions other = one;
  other.seed = 20;
  const FitResult first = fit(problem(4, 6, "mpc"), one);
  CHECK(hash(first.code) == hash(fit(problem(4, 6, "mpc"), one).code));
  CHECK(hash(first.code) != hash(fit(problem(4, 6, "mpc"), other).code));
  CHECK(first.code.construction.seed >= 1);
  CHECK(first.code.construction.seed <= 2);
  // More draws include the fewer.
  one.draws = 6;
  CHECK(fit(problem(4, 6, "mpc"), one).code.predicted_relative_error <= first.code.predicted_relative_error * 1.001);
}

TEST_CASE("c = N is the exact ring under every name") {
  for (const std::string_view name : construction_names()) {
    CAPTURE(name);
    const FitResult result = fit(problem(4, 4, std::string(name)));
    CHECK(result.phi == 0);
    CHECK(result.kappa_max == doctest::Approx(1));
    CHECK(result.code.predicted_relative_error < 1e-7);
    CHECK(simulate(result.code, 1000, 3).relative < 1e-7);
    CHECK((result.code.decoders[1].array() != 0).count() == 4);
  }
}

TEST_CASE("one worker and two workers need no approximation") {
  for (const std::string_view name : {"overlapped", "cyclic", "mpc", "mpc-shift"}) {
    CAPTURE(name);
    const FitResult single = fit(problem(1, 3, std::string(name)));
    CHECK(single.code.predicted_relative_error == 0);
    CHECK(simulate(single.code, 100, 3).relative == 0);
    const FitResult pair = fit(problem(2, 4, std::string(name)));
    CHECK(pair.code.predicted_relative_error < 2e-7);
    CHECK(simulate(pair.code, 1000, 3).relative < 2e-7);
  }
}

TEST_CASE("a first kept round in between, and the paper's decoder, can be asked for") {
  FitProblem p = problem(4, 8, "cyclic");
  p.first_kept_round = 2;
  const FitResult between = fit(p);
  CHECK(between.code.first_kept_round == 2);
  CHECK(between.code.predicted_relative_error < 2e-4);
  p.decoder = Decoder::paper;
  CHECK_THROWS_WITH_AS(fit(p), doctest::Contains("first_kept_round is 2"), std::invalid_argument);
  p.first_kept_round.reset();
  const FitResult paper = fit(p);
  CHECK(paper.code.first_kept_round == 3);
  CHECK(paper.phi >= 4);
  CHECK(simulate(paper.code, 1000, 3).relative == doctest::Approx(paper.code.predicted_relative_error).epsilon(0.05));
}

TEST_CASE("correlated workers: designed for it, the error falls") {
  FitProblem p = problem(4, 12);
  p.correlation = 0.9;
  const FitResult result = fit(p);
  CHECK(result.code.noise.correlation == 0.9);
  CHECK(result.code.predicted_relative_error < 0.5 * fit(problem(4, 12)).code.predicted_relative_error);
  CHECK(simulate(result.code, 2000, 5).relative == doctest::Approx(result.code.predicted_relative_error).epsilon(0.15));
}

TEST_CASE("arguments out of range are refused with a sentence") {
  CHECK_THROWS_WITH_AS(fit(problem(0, 4)), doctest::Contains("workers is 0"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(fit(problem(4, -1)), doctest::Contains("chunks is -1"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(fit(problem(4, 3)), doctest::Contains("chunks is 3 with 4 workers"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(fit(problem(4, 12, "magic")),
                       doctest::Contains("overlapped, cyclic, mpc, mpc-shift, vandermonde, ring"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(fit(problem(4, 12, "ring")), doctest::Contains("chunks = workers"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(fit(problem(4000, 12000)), doctest::Contains("take fewer chunks"), std::invalid_argument);
  FitProblem p = problem(4, 12);
  p.wire = "f8";
  CHECK_THROWS_WITH_AS(fit(p), doctest::Contains("the known ones are f32"), std::invalid_argument);
  p = problem(4, 12);
  for (const double bad : {-0.1, 1.0, std::nan("")}) {
    p.correlation = bad;
    CHECK_THROWS_WITH_AS(fit(p), doctest::Contains("correlation is"), std::invalid_argument);
  }
  p = problem(1, 3);
  p.decoder = Decoder::paper;
  CHECK_THROWS_WITH_AS(fit(p), doctest::Contains("at least 2 workers"), std::invalid_argument);
  FitOptions none;
  none.draws = 0;
  CHECK_THROWS_AS(fit(problem(4, 12), none), std::invalid_argument);
}

TEST_CASE("eta of a float32 wire is the rms error of rounding") {
  // Over values spread evenly on a logarithmic scale of one binade: the mean square relative error.
  double squares = 0;
  const int count = 1'000'000;
  std::uint64_t state = 12345;
  for (int k = 0; k < count; ++k) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const double x = std::exp2(static_cast<double>(state >> 11U) * 0x1p-53);
    const double off = static_cast<double>(static_cast<float>(x)) / x - 1;
    squares += off * off;
  }
  CHECK(std::sqrt(squares / count) == doctest::Approx(wire_eta("f32", 4)).epsilon(0.005));
}

}  // namespace
}  // namespace cerar
