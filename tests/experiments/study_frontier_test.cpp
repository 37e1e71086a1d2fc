#include "experiments/study/frontier.h"
#include "optimize/fit.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace cerar {
namespace {

using testing::contains;
using testing::Folder;

FrontierStudy frontier(const FrontierOptions& options, int threads = 1) {
  const Folder folder;
  return study_frontier(options, folder / "study", {.threads = threads}).value();
}

TEST_CASE("the frontier at (4, 12): the known errors, on the bound, falling as kappa^(-1/2)") {
  const FrontierStudy study = frontier({{4, 12}, {1e3, 1e4, 1e5, 1e6, 1e7}, 100}, 2);
  CHECK(study.holds);
  REQUIRE(study.families.size() == 4);
  const double expected[4][4] = {{0.149, 0.031, 0.0106, 0.0037},
                                 {0.025, 0.0082, 0.0027, 6.9e-4},
                                 {0.025, 0.0082, 0.0027, 6.9e-4},
                                 {0.01487, 0.00470, 0.001487, 4.70e-4}};
  for (std::size_t f = 0; f < 4; ++f) {
    const FrontierFamily& family = study.families[f];
    CAPTURE(family.name);
    REQUIRE(family.points.size() == 5);
    for (std::size_t k = 0; k < 5; ++k) {
      const FrontierPoint& point = family.points[k];
      CAPTURE(point.kappa_max);
      CHECK(std::abs(point.kappa / point.kappa_max - 1) <= 1e-3);
      CHECK((k == 0 || point.error < family.points[k - 1].error));
      CHECK((k == 4 || point.error <= 1.05 * expected[f][k]));
    }
    REQUIRE(family.fit);
    CHECK(std::abs(family.fit->slope + 0.5) < 5e-3);
    CHECK(family.slope_error < 0.03);
  }
  // The theorem's power, but less of it for optimised codes than for the nodes they set out from.
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK(study.families[3].points[k].error < 0.75 * study.families[2].points[k].error);
  }
}

TEST_CASE("Student's interval: with three points it is 12.7 standard errors on either side") {
  const FrontierStudy study = frontier({{3, 7}, {1e2, 3e2, 1e3, 3e3, 1e4}, 1});
  const FrontierFamily& nodes = study.families[2];
  REQUIRE(nodes.fit);
  REQUIRE(nodes.fit->slope_error > 0);
  CHECK(nodes.slope_error / nodes.fit->slope_error == doctest::Approx(12.706).epsilon(1e-4));
}

TEST_CASE("the frontier is what fit finds under the same bound, for both kinds of error") {
  for (const OwnBlock own_block : {OwnBlock::included, OwnBlock::exact}) {
    const FrontierStudy study = frontier({{3, 8}, {1e3, 1e4, 1e5}, 1, own_block});
    FitProblem problem;
    problem.shape = {3, 8};
    problem.construction = "cyclic";
    problem.own_block = own_block;
    problem.first_kept_round = 2;
    problem.eta = 0;
    problem.noise_entry = NoiseEntry::kept;
    problem.bounds.stacked_kappa = 1e4;
    FitOptions how;
    how.starts = 2;
    const FitResult result = fit(problem, how);
    const FitStart& best = result.starts[result.best_start];
    CHECK(study.families[3].points[1].error == doctest::Approx(best.error).epsilon(0.02).scale(0));
    // fit scans less finely, since it only sets out from there.
    const double nodes = study.families[2].points[1].error;
    CHECK(nodes <= best.closed_form_error);
    CHECK(nodes > 0.95 * best.closed_form_error);
  }
}

TEST_CASE("neither the number of threads nor an interruption changes the frontier") {
  const FrontierOptions options{{3, 9}, {1e3, 1e4, 1e5}, 2};
  const FrontierStudy whole = frontier(options);
  for (const int stop_after : {10, 60}) {  // while closed forms are scanned, and in a descent
    const Folder folder;
    int asked = 0;
    CHECK_FALSE(
        study_frontier(options, folder / "study", {.threads = 1, .stop = [&] { return ++asked > stop_after; }}));
    const auto resumed = study_frontier(options, folder / "study", {.threads = 2}).value();
    for (std::size_t f = 0; f < 4; ++f) {
      REQUIRE(resumed.families[f].points.size() == whole.families[f].points.size());
      for (std::size_t k = 0; k < whole.families[f].points.size(); ++k) {
        CHECK(resumed.families[f].points[k].error == whole.families[f].points[k].error);
        CHECK(resumed.families[f].points[k].kappa == whole.families[f].points[k].kappa);
      }
    }
  }
}

TEST_CASE("cerar study frontier: files, points that are kept, bounds out of reach, and bad input") {
  const Folder folder;
  const std::string command =
      "study frontier --workers 4 --chunks 12 --kappa 10,100,1e3,1e4,1e5 --seeds 3 --threads 1 -o results";
  const testing::Outcome first = testing::cerar(folder, command);
  CHECK(first.status == 0);
  CHECK(contains(first.out, "verdict: holds"));
  CHECK(contains(first.out, "mpc-shift: smallest kappa of the closed form 54.96;"));
  const auto summary = nlohmann::json::parse(testing::contents(folder / "results/summary.json"));
  const auto& nodes = summary["families"][2];
  CHECK(nodes["points"].get<int>() == 5);
  CHECK(summary["families"][1]["smallest_kappa"].get<double>() == doctest::Approx(54.96).epsilon(1e-3));
  CHECK(summary["families"][1]["points"].get<int>() == 4);
  CHECK(nodes["theory"].get<double>() == -0.5);
  CHECK(std::abs(nodes["slope"].get<double>() + 0.5) < 0.02);
  const std::string csv = testing::contents(folder / "results/frontier.csv");
  CHECK(contains(csv, "family,kappa_max,kappa,error\n"));
  CHECK(contains(csv, "optimised,1000,"));
  CHECK_FALSE(contains(csv, "mpc-shift,10,"));
  CHECK(testing::contents(folder / "results/frontier.png").size() > 5'000);
  CHECK(testing::cerar(folder, command).out == first.out);

  const auto refused = [&](const std::string& arguments, const char* why) {
    const testing::Outcome bad = testing::cerar(folder, "study frontier -o new " + arguments);
    CAPTURE(bad.err);
    CHECK(bad.status != 0);
    CHECK(contains(bad.err, why));
  };
  refused("--workers 4 --chunks 4", "chunks = workers is the exact ring");
  refused("--workers 4 --chunks 3", "chunks");
  refused("--workers 2 --chunks 4", "fewer than 3");
  refused("--workers 100 --chunks 300", "would take days");
  refused("--workers 4 --chunks 12 --kappa 0.1:1e5", "a condition number is at least 1");
  refused("--workers 4 --chunks 12 --kappa 1e2:1e15", "must lie between");
  refused("--workers 4 --chunks 12 --kappa 1e2,1e3", "at least 3");
  refused("--workers 4 --chunks 12 --kappa big", "no positive number");
  CHECK(!std::filesystem::exists(folder / "new"));
  refused("--workers 5 --chunks 13 --seeds 1 --kappa 1.5,2,3", "the smallest condition number found");
}

}  // namespace
}  // namespace cerar
