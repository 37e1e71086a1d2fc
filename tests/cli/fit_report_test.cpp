#include "coding/code_file.h"
#include "optimize/catalogue.h"
#include "tests/coding/support.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace cerar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using testing::cerar;
using testing::contains;
using testing::contents;
using testing::Outcome;

/// Rows of a CSV file without its first line.
std::vector<std::vector<std::string>> table(const fs::path& path) {
  std::istringstream lines(contents(path));
  std::string line;
  REQUIRE(std::getline(lines, line));
  std::vector<std::vector<std::string>> rows;
  while (std::getline(lines, line)) {
    rows.emplace_back();
    std::istringstream cells(line + ",");
    for (std::string cell; std::getline(cells, cell, ',');) {
      rows.back().push_back(cell);
    }
  }
  return rows;
}

TEST_CASE("a report holds the code, its convergence, its singular values and where its error is") {
  const test::TemporaryFolder folder;
  const Outcome fitted = cerar(folder, "fit --workers 3 --chunks 9 --starts 3 --json --report report");
  REQUIRE(fitted.status == 0);
  const json found = json::parse(fitted.out);
  const Code code = read_shift_code_file(folder / "report/code.json");
  CHECK(fmt::format("{:016x}", hash(code)) == found.at("hash").get<std::string>());
  for (const char* picture : {"convergence.png", "singular_values.png", "errors.png"}) {
    CHECK(contents(folder / "report" / picture).starts_with("\x89PNG"));
  }

  // Every descent goes down, and the best ends where the code is.
  std::map<std::string, double> last;
  double best = 0;
  for (const auto& row : table(folder / "report/convergence.csv")) {
    const double error = std::stod(row.at(3));
    best = row.at(1) == "1" ? error : best;
    last[row.at(0)] = error;
  }
  CHECK(last.size() == 3);
  CHECK(best == doctest::Approx(found.at("predicted_relative_error").get<double>()).epsilon(0.1).scale(0));

  double largest = 0;
  double smallest = 1e300;
  int levels = 0;
  for (const auto& row : table(folder / "report/singular_values.csv")) {
    if (row.at(0) == "M" && row.at(1) == "0") {
      largest = std::max(largest, std::stod(row.at(3)));
      smallest = std::min(smallest, std::stod(row.at(3)));
      levels += row.at(4).empty() ? 0 : 1;
    }
  }
  CHECK(levels == code.kept());
  CHECK(largest / smallest == doctest::Approx(found.at("kappa_max").get<double>()).epsilon(1e-3).scale(0));

  // Worker 0's errors by chunk add up to its relative error, and no worker errs in its own gradient.
  double squares = 0;
  for (const auto& row : table(folder / "report/errors.csv")) {
    squares += row.at(0) == "0" ? std::pow(std::stod(row.at(4)), 2) / 9 : 0;
  }
  CHECK(std::sqrt(squares) == doctest::Approx(found.at("worker_errors").at(0).get<double>()).epsilon(1e-6).scale(0));
  double norms = 0;
  for (const auto& row : table(folder / "report/blocks.csv")) {
    CHECK((std::stod(row.at(2)) == 0) == (row.at(0) == row.at(1)));
    norms += std::pow(std::stod(row.at(2)), 2);
  }
  CHECK(norms == doctest::Approx(found.at("phi").get<double>()).epsilon(1e-6).scale(0));
}

TEST_CASE("a report replaces an earlier one and nothing else, and is whole or not there") {
  const test::TemporaryFolder folder;
  REQUIRE(cerar(folder, "fit --workers 3 --chunks 4 --closed-form --report report/").status == 0);
  CHECK(cerar(folder, "fit --workers 2 --chunks 4 --closed-form --report report").status == 0);
  CHECK(read_shift_code_file(folder / "report/code.json").shape == RingShape{2, 4});

  std::ofstream(folder / "report/diary.txt") << "mine";
  const Outcome other = cerar(folder, "fit --workers 3 --chunks 4 --report report");
  CHECK(other.status != 0);
  CHECK(contains(other.err, "holds other things than a report (diary.txt)"));
  CHECK(read_shift_code_file(folder / "report/code.json").shape == RingShape{2, 4});
  CHECK(contains(cerar(folder, "fit --workers 3 --chunks 4 --report report/diary.txt").err, "is a file"));
  CHECK(contains(cerar(folder, "fit --workers 3 --chunks 4 --report no/such/report").err, "there is no folder"));
  CHECK(contains(cerar(folder, "fit --construction piggyback --workers 4 --chunks 8 --report new").err,
                 "--report means nothing for a code of construction piggyback"));

  const Outcome without_gnuplot = testing::shell(
      folder, fmt::format("mkdir none; PATH=none '{}' fit --workers 3 --chunks 4 --report new", CERAR_PROGRAM));
  CHECK(without_gnuplot.status != 0);
  CHECK(contains(without_gnuplot.err, "not installed; install the Debian package gnuplot-nox"));
  fs::remove_all(folder / "report");
  fs::remove(folder / "none");
  CHECK(fs::is_empty(folder / ""));
}

TEST_CASE("a measured covariance is fitted for, and the code carries it") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "c.csv") << "1,0.5,0.1\n0.5,1.2,0\n0.1,0,0.8\n";
  REQUIRE(cerar(folder, "fit --workers 3 --chunks 6 --covariance c.csv -o code.json").status == 0);
  const Code code = read_shift_code_file(folder / "code.json");
  REQUIRE(code.noise.covariance.rows() == 3);
  CHECK(code.noise.covariance(0, 1) == 0.5);
  const Outcome both = cerar(folder, "fit --workers 3 --chunks 6 --covariance c.csv --correlation 0.1");
  CHECK(both.status != 0);
  CHECK(contains(both.err, "--correlation"));
  CHECK(contains(cerar(folder, "fit --workers 4 --chunks 6 --covariance c.csv").err, "c.csv"));
  CHECK(contains(cerar(folder, "fit --workers 3 --chunks 6 --covariance none.csv").err, "none.csv"));
}

TEST_CASE("the catalogue's better code is named, and only where it answers the same question") {
  const test::TemporaryFolder folder;
  const json poor =
      json::parse(cerar(folder, "fit --workers 4 --chunks 12 --closed-form --construction mpc-shift --json").out);
  const CatalogueEntry* entry = find_in_catalogue({4, 12}, "f32");
  REQUIRE(entry != nullptr);
  CHECK(poor.at("better_in_catalogue").at("file") == "4-12-f32.json.gz");
  CHECK(poor.at("better_in_catalogue").at("simulated_relative_error") == entry->simulated_relative_error);
  CHECK(contains(cerar(folder, "fit --workers 4 --chunks 12 --closed-form --construction mpc-shift").out,
                 "4-12-f32.json.gz"));
  for (const std::string other :
       {"--workers 4 --chunks 12", "--workers 4 --chunks 11 --closed-form --construction mpc-shift",
        "--workers 4 --chunks 12 --closed-form --construction mpc-shift --wire f16",
        "--workers 4 --chunks 12 --closed-form --construction mpc-shift --correlation 0.5",
        "--workers 4 --chunks 12 --kappa-max 1e4"}) {
    CAPTURE(other);
    const Outcome fitted = cerar(folder, fmt::format("fit {} --json", other));
    REQUIRE(fitted.status == 0);
    CHECK(json::parse(fitted.out).at("better_in_catalogue").is_null());
  }
}

TEST_CASE("a prediction that the simulation contradicts is said to be wrong, and the file states both") {
  const test::TemporaryFolder folder;
  // Not a code to use; the noise model is a third off for it.
  const Outcome fitted = cerar(folder, "fit --workers 3 --chunks 9 --construction vandermonde -o code.json");
  CHECK(fitted.status == 1);
  CHECK(contains(fitted.err, "differ by more than 20 %: do not rely on the prediction; code.json states both"));
  const Code code = read_shift_code_file(folder / "code.json");
  REQUIRE(code.simulated_relative_error);
  CHECK(std::abs(*code.simulated_relative_error - code.predicted_relative_error) > 0.2 * code.predicted_relative_error);
  // Rounding as the user wants it is not the wire's: that is no failure.
  const Outcome own = cerar(folder, "fit --workers 3 --chunks 9 --eta 1e-6 -o code.json");
  CHECK(own.status == 0);
  CHECK(contains(own.err, "the prediction is for rounding as --eta and --noise-model have it"));
}

TEST_CASE("what is exact has a report too, without a picture of its convergence") {
  const test::TemporaryFolder folder;
  for (const char* shape : {"--workers 4 --chunks 4 --eta 0", "--workers 1 --chunks 3"}) {
    CAPTURE(shape);
    const Outcome fitted = cerar(folder, fmt::format("fit {} --report report", shape));
    CHECK_MESSAGE(fitted.status == 0, fitted.err);
    CHECK(std::filesystem::exists(folder / "report/convergence.csv"));
    CHECK(!std::filesystem::exists(folder / "report/convergence.png"));
  }
}

TEST_CASE("options that say nothing about a code are refused") {
  const test::TemporaryFolder folder;
  const Outcome bound = cerar(folder, "fit --construction piggyback --workers 4 --chunks 8 --kappa-max 10");
  CHECK(bound.status == 1);
  CHECK(contains(bound.err, "--kappa-max means nothing for a code of construction piggyback"));
  const Outcome link = cerar(folder, "fit --workers 4 --chunks 8 --latency 1e-3");
  CHECK(link.status == 1);
  CHECK(contains(link.err, "--latency means nothing for a code of construction overlapped"));
}

TEST_CASE("Ctrl-C keeps the best code so far and says so") {
  const test::TemporaryFolder folder;
  // Without --foreground, timeout signals the program and then the group: the request comes twice, as some launchers
  // do.
  const Outcome stopped = testing::shell(
      folder,
      fmt::format(
          "timeout --preserve-status -s INT -k 60 2 '{}' fit --workers 4 --chunks 8 --starts 100000 --threads 1 "
          "-o code.json",
          CERAR_PROGRAM));
  CHECK(stopped.status == 130);
  CHECK(contains(stopped.out, "interrupted, the best so far was kept"));
  CHECK(read_shift_code_file(folder / "code.json").shape == RingShape{4, 8});
}

TEST_CASE("a time limit keeps the best code so far and says so") {
  const test::TemporaryFolder folder;
  const Outcome limited =
      cerar(folder, "fit --workers 4 --chunks 8 --starts 100000 --time-limit 2 --json -o code.json");
  CHECK(limited.status == 0);
  CHECK(json::parse(limited.out).at("interrupted") == true);
  CHECK(read_shift_code_file(folder / "code.json").shape == RingShape{4, 8});
}

TEST_CASE("hostile options are refused in one sentence, and nothing is written") {
  const test::TemporaryFolder folder;
  struct Bad {
    const char* arguments;
    const char* expected;
  };
  for (const Bad& bad : {
           Bad{"--workers 4 --chunks 3", "chunks is 3 with 4 workers"},
           Bad{"--workers 4 --chunks 12 --kappa-max 1.5", "the smallest condition number found"},
           Bad{"--workers 4 --chunks 12 --kappa-max 0.5", "a condition number is at least 1"},
           Bad{"--workers 4 --chunks 12 --kappa-max 0", "--kappa-max"},
           Bad{"--workers 4 --chunks 12 --decoder-max -1", "--decoder-max"},
           Bad{"--workers 4 --chunks 12 --correlation 1", "correlation is 1"},
           Bad{"--workers 4 --chunks 12 --eta 1", "eta is 1"},
           Bad{"--workers 4 --chunks 12 --starts 0", "starts is 0; at least 1 is needed"},
           Bad{"--workers 4 --chunks 12 --time-limit -1", "time limit is -1"},
           Bad{"--workers 100000 --chunks 400000", "take fewer chunks"},
           Bad{"--workers 4 --chunks 12 --decoder-norm 1e-3", "no code with so small an R"},
           Bad{"--workers 4 --chunks 12 --report /proc/report", "cannot be written"},
       }) {
    CAPTURE(bad.arguments);
    const Outcome outcome = cerar(folder, fmt::format("fit {} -o code.json", bad.arguments));
    CAPTURE(outcome.err);
    CHECK(outcome.status != 0);
    CHECK(contains(outcome.err, bad.expected));
    CHECK(outcome.out.empty());
  }
  CHECK(fs::is_empty(folder / ""));
}

TEST_CASE("shapes that need no fit are exact") {
  const test::TemporaryFolder folder;
  for (const char* shape : {"--workers 1 --chunks 3", "--workers 2 --chunks 5", "--workers 4 --chunks 4",
                            "--workers 4 --chunks 4 --eta 0"}) {
    CAPTURE(shape);
    const Outcome fitted = cerar(folder, fmt::format("fit {} --json -o code.json", shape));
    REQUIRE(fitted.status == 0);
    CHECK(json::parse(fitted.out).at("simulated_relative_error").get<double>() < 1e-6);
  }
}

TEST_CASE("on integer wires the default is the better construction") {
  const test::TemporaryFolder folder;
  const auto error = [&](const std::string& options) {
    return json::parse(cerar(folder, "fit --json " + options).out).at("simulated_relative_error").get<double>();
  };
  for (const char* ring : {"--workers 4 --chunks 8 --wire i32", "--workers 4 --chunks 12 --wire i16"}) {
    CAPTURE(ring);
    CHECK(error(ring) < 0.99 * error(std::string(ring) + " --construction cyclic"));
  }
}

}  // namespace
}  // namespace cerar
