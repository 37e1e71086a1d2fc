#include "coding/code_file.h"
#include "experiments/study/rates.h"
#include "optimize/fit.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace cerar {
namespace {

using testing::contains;
using testing::Folder;

TEST_CASE("rates: every c from N on, the codes as fit finds them, simulated as predicted") {
  const Folder folder;
  const auto study = study_rates({.workers = 3, .most_chunks = 7}, folder / "study", {.threads = 2}).value();
  CHECK(study.holds);
  REQUIRE(study.points.size() == 5);
  CHECK(study.points[0].simulated < 1e-6);  // the exact ring
  CHECK(study.points[0].kappa == doctest::Approx(1));
  for (std::size_t k = 0; k < study.points.size(); ++k) {
    const RatePoint& point = study.points[k];
    CAPTURE(point.shape.chunks);
    CHECK(point.shape == RingShape{3, 3 + static_cast<std::int64_t>(k)});
    const Code code = read_shift_code_file(folder / fmt::format("study/codes/c_{}.json", point.shape.chunks));
    CHECK(code.shape == point.shape);
    CHECK(code.predicted_relative_error == point.predicted);
    CHECK(code.simulated_relative_error == point.simulated);
  }
  CHECK(hash(fit({.shape = {3, 6}}).code) == hash(read_shift_code_file(folder / "study/codes/c_6.json")));
  for (std::size_t k = 0; k < study.points.size(); ++k) {
    bool beaten = false;
    for (std::size_t more = k + 1; more < study.points.size(); ++more) {
      beaten = beaten || study.points[more].simulated <= study.points[k].simulated;
    }
    CHECK(study.points[k].worth == !beaten);
  }
  REQUIRE(study.piggyback.size() == 1);
  CHECK(study.piggyback[0].shape == RingShape{3, 6});
  CHECK(study.piggyback[0].predicted > 1e-6);
  CHECK(study.piggyback[0].predicted < 1e-3);
}

TEST_CASE("rates: integer wires, another construction, and what was interrupted goes on") {
  const Folder folder;
  const RatesOptions options{.workers = 3, .most_chunks = 5, .wire = "i32", .construction = "cyclic"};
  int asked = 0;
  CHECK_FALSE(study_rates(options, folder / "study", {.threads = 1, .stop = [&] { return ++asked > 2; }}));
  CHECK_FALSE(std::filesystem::exists(folder / "study/points/c_3.json"));
  const auto study = study_rates(options, folder / "study", {}).value();
  CHECK(study.options.construction == "cyclic");
  CHECK(study.piggyback.empty());
  CHECK(read_shift_code_file(folder / "study/codes/c_5.json").construction.name == "cyclic");
  // Points are kept with their times; a code that is gone is fitted again.
  std::filesystem::remove(folder / "study/codes/c_5.json");
  const auto again = study_rates(options, folder / "study", {}).value();
  CHECK(again.points[1].seconds == study.points[1].seconds);
  CHECK(again.points[2].predicted == study.points[2].predicted);
  CHECK(std::filesystem::exists(folder / "study/codes/c_5.json"));
}

TEST_CASE("cerar study rates: files, more chunks in the same folder, and bad input") {
  const Folder folder;
  const testing::Outcome first = testing::cerar(folder, "study rates --workers 3 --chunks-to 5 -o results");
  CHECK(first.status == 0);
  CHECK(contains(first.out, "verdict: holds"));
  CHECK(testing::cerar(folder, "study rates --workers 3 --chunks-to 5 -o results").out == first.out);
  CHECK(testing::cerar(folder, "study rates --workers 3 --chunks-to 6 -o results").status == 0);
  const auto summary = nlohmann::json::parse(testing::contents(folder / "results/summary.json"));
  CHECK(summary["worth"][0]["chunks"] == 3);
  CHECK(summary["worth"].back()["code"] == "codes/c_6.json");
  CHECK(summary["piggyback"].size() == 1);
  CHECK(contains(testing::contents(folder / "results/rates.csv"),
                 "workers,chunks,rate,predicted,simulated,kappa,seconds,worth\n3,3,"));
  CHECK(testing::contents(folder / "results/rates.png").size() > 5'000);
  CHECK(testing::cerar(folder, "show results/codes/c_6.json").status == 0);

  const auto refused = [&](const std::string& arguments, const char* why) {
    const testing::Outcome bad = testing::cerar(folder, "study rates -o new " + arguments);
    CAPTURE(bad.err);
    CHECK(bad.status != 0);
    CHECK(contains(bad.err, why));
  };
  refused("--workers 4 --chunks-to 4", "--chunks-to is 4; it must be above");
  refused("--workers 1", "at least 2");
  refused("--workers 4 --wire f31", "f31");
  refused("--workers 4 --construction ring", "has no codes for every c");
  CHECK(!std::filesystem::exists(folder / "new"));
  const testing::Outcome other = testing::cerar(folder, "study rates --workers 4 -o results");
  CHECK(other.status != 0);
  CHECK(contains(other.err, "holds another run"));
}

}  // namespace
}  // namespace cerar
