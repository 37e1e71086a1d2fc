#include "coding/error.h"
#include "experiments/study/conditioning.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cmath>
#include <string>
#include <vector>

namespace cerar {
namespace {

using testing::contains;
using testing::Folder;

ConditioningOptions options_for(const WindowSource& source, double high, double low, int points) {
  ConditioningOptions options;
  options.source = source;
  options.eps = log_grid(high, low, points);
  return options;
}

SeedConditioning study_one(const ConditioningOptions& options) {
  const Folder folder;
  return study_conditioning(options, folder / "study", {}).value().seeds.front();
}

template <class Callable>
std::string message_of(const Callable& callable) {
  try {
    callable();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("fit_log_log finds slope, constant and the slope's standard error") {
  const LogLogFit exact = fit_log_log({1, 10, 100}, {3, 300, 30000});
  CHECK(exact.slope == doctest::Approx(2));
  CHECK(exact.constant == doctest::Approx(3));
  CHECK(exact.slope_error < 1e-12);
  const double e = std::exp(1.0);
  const LogLogFit scattered = fit_log_log({1 / e, 1, e}, {1 / e, e, e});  // logarithms (-1, -1), (0, 1), (1, 1)
  CHECK(scattered.slope == doctest::Approx(1));
  CHECK(scattered.slope_error == doctest::Approx(std::sqrt(2.0 / 3 / 2)));
  CHECK_THROWS_AS(static_cast<void>(fit_log_log({1, 2}, {1, 0})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(fit_log_log({2, 2}, {1, 3})), std::invalid_argument);
}

TEST_CASE("counts, slopes and the identity are those of the theorem for the shapes the paper names") {
  struct Case {
    RingShape shape;
    std::vector<std::int64_t> counts;
  };
  for (const Case& c : {Case{{4, 5}, {4, 1}}, {{4, 12}, {4, 4, 4}}, {{8, 20}, {8, 8, 4}}}) {
    const std::uint64_t seed = 1;
    MESSAGE(fmt::format("N {} c {} seed {}", c.shape.workers, c.shape.chunks, seed));
    ConditioningOptions options = options_for(window_source("mpc", c.shape), 1e-3, 1e-9, 3);
    options.first_seed = seed;
    const SeedConditioning result = study_one(options);
    const double exponent = static_cast<double>(c.counts.size()) - 1;
    CHECK(result.counts == c.counts);
    CHECK(result.expected_counts == c.counts);
    CHECK(std::abs(result.kappa.slope + exponent) < 5e-3);
    CHECK(std::abs(result.stacked_kappa.slope + exponent) < 5e-3);
    CHECK(result.residual < std::pow(10.0, 10 - result.digits));
    CHECK(result.bounds_hold);
    CHECK(result.stacked_bound_holds);
    CHECK(result.constant_error < 1e-6);
    CHECK(result.core_change.value().slope == doctest::Approx(1).epsilon(1e-6));
    CHECK(result.verdict == Verdict::holds);
  }
}

TEST_CASE("every construction splits as its theory says") {
  for (const std::string_view name : windowed_constructions()) {
    CAPTURE(name);
    const SeedConditioning result = study_one(options_for(window_source(name, {3, 7}), 1e-3, 1e-9, 4));
    CHECK(result.counts == std::vector<std::int64_t>{3, 3, 1});
    CHECK(result.verdict == Verdict::holds);
    CHECK(result.stacked_fits.front().size() == (name == "overlapped" ? 8 : 7));
    for (std::size_t k = 0; k < result.stacked_fits.front().size(); ++k) {
      CHECK(result.stacked_fits[1][k].slope ==
            doctest::Approx(static_cast<double>(result.limit.stacked_powers[k])).epsilon(1e-3));
    }
  }
}

TEST_CASE("multiprecision agrees with LAPACK and long double where those suffice, and only there") {
  const SeedConditioning result = study_one(options_for(window_source("mpc", {4, 12}), 1e-2, 1e-12, 3));
  for (const ConditioningPoint& point : result.points.front()) {
    CHECK(point.kappa_double == doctest::Approx(point.kappa()).epsilon(1e-8));
    CHECK(point.kappa_long_double == doctest::Approx(point.kappa()).epsilon(1e-11));
  }
  CHECK(result.points.back().front().kappa() > 1e24);
  CHECK(result.points.back().front().kappa_double < 1e22);
}

/// N = 2, c = 3 with det K^(1) proportional to g, and det K_1(eps) to g - eps.
WindowSource nearly_singular(const std::string& g) {
  return {"nearly singular", {2, 3}, false, "", [g](std::uint64_t) {
            Perturbation<Wide> p{Matrix<Wide>::Identity(2, 3), Matrix<Wide>::Zero(3, 3)};
            p.direction(0, 2) = 1;
            p.direction(1, 0) = 1;
            p.direction(1, 2) = Wide(g);
            return perturbation_windows<Wide>({2, 3}, p);
          }};
}

TEST_CASE("a construction that violates the assumption is flagged: singular K is refused, nearly singular unsettled") {
  const std::string singular =
      message_of([] { static_cast<void>(study_one(options_for(nearly_singular("0"), 1e-2, 1e-6, 5))); });
  CHECK(contains(singular, "K^(1), the limit of window l = 1, is singular (gamma = "));
  CHECK(contains(singular, "take another B or H"));

  const WindowSource no_direction{
      "H = 0", {2, 3}, false, "", [](std::uint64_t) {
        return perturbation_windows<Wide>({2, 3}, {Matrix<Wide>::Identity(2, 3), Matrix<Wide>::Zero(3, 3)});
      }};
  CHECK(contains(message_of([&] { static_cast<void>(study_one(options_for(no_direction, 1e-2, 1e-6, 5))); }),
                 "K^(0), the limit of window l = 0, is singular (gamma = 0,"));

  const SeedConditioning close = study_one(options_for(nearly_singular("1e-9"), 1e-2, 1e-6, 5));
  CHECK(close.verdict == Verdict::unsettled);
  CHECK(close.counts == std::vector<std::int64_t>{2, 0});
  CHECK(contains(close.reason, "is near zero"));

  CHECK(study_one(options_for(nearly_singular("1e-9"), 1e-12, 1e-16, 5)).verdict == Verdict::holds);
  CHECK(study_one(options_for(nearly_singular("0.5"), 1e-2, 1e-6, 5)).verdict == Verdict::holds);
}

TEST_CASE("a stopped study goes on where it was, and threads change nothing") {
  const ConditioningOptions options = options_for(window_source("mpc", {3, 7}), 1e-3, 1e-6, 4);
  const Folder folder;
  std::atomic<bool> one_done = false;
  StudyHooks stopping{2, [&] { return one_done.load(); }, [&](std::size_t, std::size_t) { one_done = true; }};
  CHECK(!study_conditioning(options, folder / "stopped", stopping).has_value());
  std::size_t first = 0;
  StudyHooks going_on{3, {}, [&](std::size_t done, std::size_t) { first = first == 0 ? done : first; }};
  const auto resumed = study_conditioning(options, folder / "stopped", going_on);
  REQUIRE(resumed);
  CHECK(first >= 2);  // one point had been kept
  const auto whole = study_conditioning(options, folder / "whole", {});
  CHECK(conditioning_summary(*resumed) == conditioning_summary(*whole));
  write_conditioning(*resumed, folder / "stopped");
  write_conditioning(*whole, folder / "whole");
  for (const char* file : {"singular_values.csv", "kappa.csv", "slopes.csv", "summary.json"}) {
    CHECK(testing::contents(folder / "stopped" / file) == testing::contents(folder / "whole" / file));
  }
}

TEST_CASE("cerar study conditioning: files, and a sentence for every bad input") {
  const Folder folder;
  const std::string small = "study conditioning --workers 3 --chunks 7 --eps 1e-3:1e-7 --points 4 ";
  const testing::Outcome good = testing::cerar(folder, small + "-o results");
  CHECK(good.status == 0);
  CHECK(contains(good.out, "verdict: holds"));
  CHECK(good.err.empty());
  const auto summary = nlohmann::json::parse(testing::contents(folder / "results/summary.json"));
  CHECK(summary["counts_per_power"] == std::vector<int>{3, 3, 1});
  CHECK(summary["workers"] == 3);
  CHECK(summary["verdict"] == "holds");
  CHECK(summary["factorisation_residual"].get<double>() < std::pow(10.0, 10 - summary["digits"].get<int>()));
  CHECK(testing::contents(folder / "results/kappa.png").size() > 10'000);
  CHECK(testing::contents(folder / "results/singular_values.png").size() > 10'000);

  const auto refused = [&](const std::string& arguments, const std::string& part) {
    CAPTURE(arguments);
    const testing::Outcome outcome = testing::cerar(folder, "study conditioning " + arguments + " -o new");
    CHECK(outcome.status != 0);
    CHECK_MESSAGE(contains(outcome.err, part), outcome.err);
    CHECK(!std::filesystem::exists(folder / "new"));
  };
  refused("--workers 3 --chunks 7 --eps 10:1e-3", "is not below 1 / ||H||");
  refused("--workers 3 --chunks 7 --digits 20", "are needed; give --digits");
  refused("--workers 3 --chunks 2", "chunks");
  refused("--workers 3 --chunks 7 --construction ring", "those that have are mpc, mpc-shift, cyclic, overlapped");
  refused("--workers 3 --chunks 7 --eps 1e-3:zero", "is no positive number");
  refused("--workers 3 --chunks 7 --construction cyclic --seeds 3", "leave out --seeds");

  const testing::Outcome unknown = testing::cerar(folder, "study conditionin");
  CHECK(unknown.status != 0);
  CHECK(contains(unknown.err, "no study is called 'conditionin'; the studies are "));

  const testing::Outcome mixed =
      testing::cerar(folder, "study conditioning --workers 3 --chunks 8 -o results --eps 1e-3:1e-7 --points 4");
  CHECK(mixed.status != 0);
  CHECK(contains(mixed.err, "holds another run (chunks is 7 there, 8 here)"));
}

}  // namespace
}  // namespace cerar
