#include "coding/code_file.h"
#include "coding/cyclic.h"
#include "coding/perturbation.h"
#include "experiments/study/fixed_code.h"
#include "experiments/study/matrix_file.h"
#include "optimize/fit.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <variant>

namespace cerar {
namespace {

using testing::contains;
using testing::Folder;

void write_rows(std::ofstream& file, const std::string& name, const Eigen::MatrixXd& matrix) {
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    file << name;
    for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
      file << fmt::format(", {}", matrix(row, column));
    }
    file << "\n";
  }
}

TEST_CASE("B and H from a CSV file are studied as the construction they were drawn by") {
  const Folder folder;
  const std::uint64_t seed = 4;
  MESSAGE("seed " << seed);
  const Perturbation<double> drawn = gaussian_perturbation<double>({3, 7}, seed);
  {
    std::ofstream file(folder / "own.csv");
    file << "# a design\n\n";
    write_rows(file, "B", drawn.base);
    write_rows(file, "H", drawn.direction);
  }
  const std::string range = " --eps 1e-3:1e-7 --points 4 -o ";
  const testing::Outcome own = testing::cerar(folder, "study conditioning --from own.csv" + range + "own");
  const testing::Outcome named =
      testing::cerar(folder, "study conditioning --workers 3 --chunks 7 --seed 4" + range + "named");
  CHECK(own.status == 0);
  CHECK(own.err.empty());
  const auto summary = [&](const char* name) {
    return nlohmann::json::parse(testing::contents(folder / fmt::format("{}/summary.json", name)));
  };
  CHECK(named.status == 0);
  CHECK(summary("own")["counts_per_power"] == std::vector<int>{3, 3, 1});
  for (const char* figure : {"gamma", "kappa_slope", "kappa_slope_stacked", "stacked_constant"}) {
    CHECK(summary("own")[figure].get<double>() ==
          doctest::Approx(summary("named")[figure].get<double>()).epsilon(1e-12));
  }
}

TEST_CASE("decimal digits beyond double are kept") {
  const Folder folder;
  std::ofstream(folder / "own.csv") << "B,1,0.1\nB,0.1234567890123456789012345678901234567890,1\nH,1,0\nH,0,2\n";
  const auto source = std::get<WindowSource>(read_matrices(folder / "own.csv"));
  CHECK(source.shape == RingShape{2, 2});
  const PrecisionScope scope(50);
  CHECK(source.family(1).window(Wide(0), 0)(1, 0) == Wide("0.1234567890123456789012345678901234567890"));
}

TEST_CASE("U from a CSV file: singular values of what is kept, known for the cyclic code") {
  const Folder folder;
  const Matrices<double> encoders = cyclic_encoders<double>({3, 6}, 0.1);
  {
    std::ofstream file(folder / "u.csv");
    for (std::size_t w = 0; w < encoders.size(); ++w) {
      write_rows(file, fmt::format("U{}", w), encoders[w]);
    }
  }
  const auto source = std::get<EncoderSource>(read_matrices(folder / "u.csv"));
  CHECK(source.shape == RingShape{3, 6});
  const FixedStudy study = study_fixed_code(source, std::nullopt, folder / "study", {}).value();
  REQUIRE(study.matrices.size() == 6);
  const double window = study.matrices.front().kappa();
  CHECK(window > 10);
  for (const FixedMatrix& one : study.matrices) {
    CHECK(one.kappa() == doctest::Approx(window).epsilon(1e-9));  // all alike, and M_i = sqrt(N - 1) A in effect
    CHECK(one.kappa_double == doctest::Approx(window).epsilon(1e-9));
    CHECK(one.kappa_long_double == doctest::Approx(window).epsilon(1e-9));
  }
}

TEST_CASE("a code file's U is studied at its one point") {
  const Folder folder;
  const FitResult fitted = fit({.shape = {4, 8}});
  write_code_file(fitted.code, folder / "code.json");
  const testing::Outcome outcome = testing::cerar(folder, "study conditioning --from code.json -o results");
  CHECK(outcome.status == 0);
  const auto summary = nlohmann::json::parse(testing::contents(folder / "results/summary.json"));
  CHECK(summary["kappa_stacked"].get<double>() == doctest::Approx(fitted.kappa_max).epsilon(1e-6));
  CHECK(testing::contents(folder / "results/singular_values.png").size() > 5'000);
}

TEST_CASE("matrices of the wrong shape are refused with file, line and what was expected") {
  const Folder folder;
  const auto refused = [&](const std::string& text, const std::string& part) {
    CAPTURE(text);
    std::ofstream(folder / "bad.csv") << text;
    const testing::Outcome outcome = testing::cerar(folder, "study conditioning --from bad.csv -o new");
    CHECK(outcome.status != 0);
    CHECK_MESSAGE(contains(outcome.err, part), outcome.err);
    CHECK(!std::filesystem::exists(folder / "new"));
  };
  refused("B,1,2\nB,3,4\nH,1,2\n", "B has 2 rows and H 1, both of 2 numbers; B needs 2 to c rows and H c = 2");
  refused("B,1,2\nB,3\n", "bad.csv, line 2: a row of B has 1 numbers, the first line has 2");
  refused("B,1,2\nB,3,much\n", "bad.csv, line 2: \"much\" is no finite number");
  refused("B,1,2\nB,3,nan\n", "\"nan\" is no finite number");
  refused("B,1,2\nB,3,4\n", "holds matrices named B; it needs B and H, or U0, U1, .. one a worker");
  refused("U0,1,2\nU1,3,4\n", "U0 has 1 rows of 2 numbers; 2 workers need");
  refused("", "is empty");
  refused("U0,1,2\nU0,1,2\nU1,1,2\nU1,1,2\n", "A_0 is singular");
  const testing::Outcome both = testing::cerar(folder, "study conditioning --from bad.csv --workers 2 -o new");
  CHECK(both.status != 0);
  CHECK(contains(both.err, "--workers excludes --from"));
}

}  // namespace
}  // namespace cerar
