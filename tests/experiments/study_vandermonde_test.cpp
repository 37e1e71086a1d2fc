#include "experiments/study/vandermonde.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <string>

namespace cerar {
namespace {

using testing::contains;
using testing::Folder;

VandermondeStudy study(const RingShape& shape, const VandermondeNodes& nodes) {
  const Folder folder;
  return study_vandermonde({shape, nodes, log_grid(1e-1, 1e-6, 6)}, folder / "study", {}).value();
}

TEST_CASE("Phi, its remainder's order and constant, and kappa are as the theory says, for nodes of every kind") {
  for (const char* name : {"equispaced", "chebyshev"}) {
    const VandermondeStudy result = study({3, 5}, vandermonde_nodes_named(name, 5));
    CHECK(result.holds);
    CHECK(result.phi.slope == doctest::Approx(2).epsilon(1e-4));
    CHECK(result.expected_order == 4);
    CHECK(result.remainder.slope == doctest::Approx(4).epsilon(1e-4));
    CHECK(result.kappa.slope == doctest::Approx(-4).epsilon(1e-4));
    CHECK(result.points.back().phi == doctest::Approx(result.points.back().leading).epsilon(1e-9));
  }
  const Folder folder;
  std::ofstream(folder / "nodes") << "0.1\n0.3\n\n0.35\n1\n-0.25\n";
  const VandermondeStudy lopsided = study({3, 5}, vandermonde_nodes_named(folder / "nodes", 5));
  CHECK(lopsided.holds);
  CHECK(lopsided.expected_order == 3);
  CHECK(lopsided.remainder.slope == doctest::Approx(3).epsilon(1e-3));
  CHECK(lopsided.map.size() == 6);  // its own c alone
}

TEST_CASE("the map: 50 digits decode what double cannot, and the exact error is that of Phi") {
  const VandermondeStudy result = study({4, 8}, vandermonde_nodes_named("equispaced", 8));
  REQUIRE(result.map.size() == 5 * 6);
  for (const VandermondeDecoding& one : result.map) {
    CHECK(one.fifty_digits == doctest::Approx(one.exact).epsilon(1e-3));
    if (one.chunks == 8) {
      const auto& point = result.points[static_cast<std::size_t>(std::llround(-1 - std::log10(one.tau)))];
      // 4 workers x 8 x 8 gradient values: the error of this one draw is near the expected one.
      CHECK(one.exact == doctest::Approx(std::sqrt(point.phi / (8 * 4 * 4))).epsilon(0.2));
      CHECK((one.float64 > kDecoded) == (one.tau < 0.09 || one.exact > kDecoded));
    }
    if (one.tau < 2e-6) {
      CHECK(one.float32 > kDecoded);
    }
  }
}

TEST_CASE("cerar study vandermonde: files, and a sentence for every bad input") {
  const Folder folder;
  const testing::Outcome good =
      testing::cerar(folder, "study vandermonde --workers 3 --chunks 5 --points 4 -o results");
  CHECK(good.status == 0);
  CHECK(contains(good.out, "verdict: holds"));
  const auto summary = nlohmann::json::parse(testing::contents(folder / "results/summary.json"));
  CHECK(summary["verdict"] == "holds");
  CHECK(testing::contents(folder / "results/map.png").size() > 5'000);
  CHECK(testing::contents(folder / "results/phi.png").size() > 5'000);

  std::ofstream(folder / "few") << "0.1\n0.3\n";
  std::ofstream(folder / "text") << "0.1\nhalf\n";
  const auto refused = [&](const std::string& arguments, const std::string& part) {
    const testing::Outcome outcome =
        testing::cerar(folder, "study vandermonde --workers 3 --chunks 5 -o new " + arguments);
    CHECK(outcome.status != 0);
    CHECK_MESSAGE(contains(outcome.err, part), outcome.err);
    CHECK(!std::filesystem::exists(folder / "new"));
  };
  refused("--nodes few", "holds 2 numbers, 2 of them different; 5 different ones are needed");
  refused("--nodes text", "line 2 is \"half\", which is no number");
  refused("--nodes nowhere", "this is none of them");
  refused("--tau 2:1e-3", "nodes would reach 0");
}

}  // namespace
}  // namespace cerar
