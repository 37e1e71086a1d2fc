#include "experiments/compare.h"

#include "../program.h"
#include "coding/error.h"
#include "experiments/compare_plot.h"
#include "experiments/gnuplot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

using namespace cerar;
using cerar::testing::contains;
using cerar::testing::Folder;

namespace {

TrainRun some_run(const std::string& reduce, double error, std::int64_t bytes, std::int64_t steps) {
  TrainRun run;
  run.header.version = "0.1.0";
  run.header.workers = 2;
  run.header.reduce = reduce;
  if (reduce == "coded") {
    run.header.code = CodeFacts{"code.json", "0123456789abcdef", "overlapped", 6, 6, 1e-4};
  }
  run.header.steps = steps;
  run.header.batch = 64;
  run.header.optimizer = "sgd";
  run.header.learning_rate = 0.2;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const auto number = static_cast<double>(step);
    run.steps.push_back({step, 2 / number, error, 2 * error, 1e-6 * number, bytes});
  }
  run.summary = TrainSummary{reduce, steps, false, {0.87, 0.88}, 3, 1, bytes * steps, error, error, 2 * error, 1e-5};
  return run;
}

std::vector<NamedRun> two_runs() {
  return {{"exact", some_run("exact", 4e-8, 1000, 30)}, {"coded 2,6", some_run("coded", 1.5e-4, 750, 30)}};
}

void write_run(const std::filesystem::path& path, const TrainRun& run) {
  TrainFileReporter reporter(path);
  reporter.header(run.header);
  for (const TrainStep& step : run.steps) {
    reporter.step(step);
  }
  reporter.summary(*run.summary);
}

}  // namespace

TEST_CASE("the table sets accuracy, errors and bytes of the runs side by side") {
  const std::string table = comparison_table(two_runs());
  INFO(table);
  CHECK(contains(table, "exact  coded 2,6"));
  CHECK(contains(table, "87.50 %"));
  CHECK(contains(table, "4.00e-06 %   0.0150 %"));
  CHECK(contains(table, "1.000      0.750"));
  CHECK_FALSE(contains(table, "note:"));
}

TEST_CASE("settings that make a comparison unfair are pointed out") {
  std::vector<NamedRun> runs = two_runs();
  runs[1].run.header.seed = 9;
  runs[1].run.header.batch = 32;
  const std::string table = comparison_table(runs);
  CHECK(contains(table, "note: the runs differ in batch: 64, 32\n"));
  CHECK(contains(table, "note: the runs differ in seed: 0, 9\n"));
}

TEST_CASE("the step table is evenly thinned and keeps both ends") {
  const auto count_lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const std::string thin = step_table(two_runs(), 12);
  CHECK(count_lines(thin) == 12 + 3);
  CHECK(contains(thin, "\n1 "));
  CHECK(contains(thin, "\n30 "));
  CHECK(count_lines(step_table(two_runs(), 0)) == 30 + 3);
  CHECK(count_lines(step_table(two_runs(), 100)) == 30 + 3);
}

TEST_CASE("runs of other steps and runs without errors leave gaps") {
  std::vector<NamedRun> runs = two_runs();
  runs[1].run.steps.resize(5);
  runs[1].run.summary.reset();
  runs[0].run.steps[0].gradient_error.reset();
  const std::string rows = step_table(runs, 0);
  CHECK(rows.substr(rows.size() - 2) == "-\n");
  CHECK(contains(rows, "\n1     | 2.0000               -   1000"));
  const std::string table = comparison_table(runs);
  CHECK(contains(table, "5 of 30 (broke off)"));
  for (TrainStep& step : runs[0].run.steps) {
    step.gradient_error.reset();
  }
  runs[1].run.steps.clear();
  CHECK_NOTHROW((void)comparison_table(runs));
  CHECK_NOTHROW((void)step_table(runs, 12));
}

TEST_CASE("runs are named by how they reduced, and by file where that is not enough") {
  const Folder folder;
  write_run(folder / "a.jsonl", some_run("exact", 0, 1, 3));
  write_run(folder / "b.jsonl", some_run("coded", 1, 1, 3));
  write_run(folder / "c.jsonl", some_run("coded", 1, 1, 3));
  const auto names = [&](const std::vector<std::string>& files) {
    std::vector<std::string> paths;
    for (const std::string& file : files) {
      paths.push_back((folder / file).string());
    }
    std::vector<std::string> result;
    for (const NamedRun& named : read_runs(paths)) {
      result.push_back(named.name);
    }
    return result;
  };
  CHECK(names({"a.jsonl", "b.jsonl"}) == std::vector<std::string>{"exact", "coded 2,6"});
  CHECK(names({"b.jsonl", "c.jsonl"}) == std::vector<std::string>{"coded 2,6 (b)", "coded 2,6 (c)"});
  CHECK_THROWS_WITH_AS(names({"a.jsonl", "d.jsonl"}), doctest::Contains("d.jsonl cannot be read"), FileError);
}

TEST_CASE("the picture is a PNG, and failures say what to do") {
  const Folder folder;
  const auto picture = folder / "it's a picture.png";
  SUBCASE("drawn") {
    plot_comparison(two_runs(), picture);
    CHECK(cerar::testing::contents(picture).substr(1, 3) == "PNG");
    CHECK(std::distance(std::filesystem::directory_iterator(folder / ""), {}) == 1);
  }
  SUBCASE("no errors measured, or none there") {
    std::vector<NamedRun> runs = two_runs();
    for (TrainStep& step : runs[0].run.steps) {
      step.gradient_error.reset();
      step.gradient_error_worst_layer.reset();
    }
    for (TrainStep& step : runs[1].run.steps) {
      step.gradient_error = 0;
      step.gradient_error_worst_layer = 0;
    }
    plot_comparison(runs, picture);
    CHECK(std::filesystem::exists(picture));
  }
  SUBCASE("no steps") {
    std::vector<NamedRun> runs = two_runs();
    runs[0].run.steps.clear();
    plot_comparison(runs, picture);
    CHECK(std::filesystem::exists(picture));
    runs[1].run.steps.clear();
    CHECK_THROWS_WITH_AS(plot_comparison(runs, picture), doctest::Contains("no steps"), Error);
  }
  SUBCASE("a folder that does not exist") {
    CHECK_THROWS_WITH_AS(plot_comparison(two_runs(), folder / "none" / "a.png"), doctest::Contains("cannot be written"),
                         FileError);
  }
  SUBCASE("gnuplot is not installed") {
    const std::string path = std::getenv("PATH");
    setenv("PATH", (folder / "").c_str(), 1);
    CHECK_THROWS_WITH_AS(plot_comparison(two_runs(), picture), doctest::Contains("gnuplot-nox"), Error);
    setenv("PATH", path.c_str(), 1);
    CHECK(std::filesystem::is_empty(folder / ""));
  }
  SUBCASE("gnuplot fails") {
    CHECK_THROWS_WITH_AS(draw_with_gnuplot("plot no_such_variable\n", picture, 400, 300),
                         doctest::Contains("no_such_variable"), Error);
    CHECK(std::filesystem::is_empty(folder / ""));
  }
}
