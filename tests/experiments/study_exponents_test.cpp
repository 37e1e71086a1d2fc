#include "coding/wire.h"
#include "experiments/study/exponents.h"
#include "optimize/fit.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace cerar {
namespace {

using testing::contains;
using testing::Folder;

TEST_CASE("the error falls as eta^(1/(1+r*)) for cyclic codes and as eta^(1/r*) for overlapped ones of r* >= 2") {
  const Folder folder;
  const auto study = study_exponents({3, {6, 9, 12}, log_grid(1e-4, 1e-16, 5)}, folder / "study", {}).value();
  REQUIRE(study.curves.size() == 6);
  const double expected[] = {1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 2, 1.0 / 2, 1.0 / 3};
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    CHECK(study.curves[i].theory == doctest::Approx(expected[i]));
    CHECK(std::abs(study.curves[i].fit.slope - expected[i]) < 2e-3);
  }
  CHECK(study.holds);
}

TEST_CASE(
    "at float32's eta the error is the one that fitting predicts, but for rounding U and the decoder's additions") {
  const Folder folder;
  const double eta = wire_eta("f32", 4);
  const auto study = study_exponents({4, {12}, {10 * eta, 3 * eta, eta}}, folder / "study", {}).value();
  for (const ExponentCurve& curve : study.curves) {
    const double fitted = fit({.shape = {4, 12}, .construction = curve.construction}).code.predicted_relative_error;
    CHECK(curve.points.back().error == doctest::Approx(fitted).epsilon(0.05));
  }
}

TEST_CASE("cerar study exponents: files, points that are kept, and bad input") {
  const Folder folder;
  const std::string command = "study exponents --workers 2 --chunks 4 --eta 1e-6:1e-12 --points 4 -o results";
  const testing::Outcome first = testing::cerar(folder, command);
  CHECK(first.status == 0);
  CHECK(contains(first.out, "verdict: holds"));
  const auto summary = nlohmann::json::parse(testing::contents(folder / "results/summary.json"));
  CHECK(summary["curves"][0]["exponent"].get<double>() == doctest::Approx(0.5).epsilon(1e-3));
  CHECK(testing::contents(folder / "results/exponents.png").size() > 5'000);
  CHECK(testing::cerar(folder, command).out == first.out);
  const testing::Outcome bad = testing::cerar(folder, "study exponents --workers 4 --chunks 4 -o new");
  CHECK(bad.status != 0);
  CHECK(contains(bad.err, "chunks = workers is the exact ring"));
  CHECK(!std::filesystem::exists(folder / "new"));
}

}  // namespace
}  // namespace cerar
