#include "coding/covariance.h"

#include "coding/error.h"
#include "tests/coding/support.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cerar {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

TEST_CASE("a covariance file round-trips to the last bit") {
  const test::TemporaryFolder folder;
  Eigen::MatrixXd covariance(3, 3);
  covariance << 1.5, 0.1, -0.2, 0.1, 1.0 / 3, 1e-17, -0.2, 1e-17, 0.7;
  write_covariance(covariance, folder / "c.csv");
  CHECK(read_covariance(folder / "c.csv", 3) == covariance);
  write_covariance(Eigen::MatrixXd::Constant(1, 1, 2.5), folder / "c.csv");
  CHECK(read_covariance(folder / "c.csv", 1)(0, 0) == 2.5);
}

TEST_CASE("files written by other programs are read") {
  const test::TemporaryFolder folder;
  put(folder / "c.csv", "1.0, 2.5e-1\r\n 2.50000000001e-1 ,1\r\n\r\n");
  const Eigen::MatrixXd covariance = read_covariance(folder / "c.csv", 2);
  CHECK(covariance(0, 0) == 1);
  CHECK(covariance(0, 1) == 0.25);
}

TEST_CASE("what is no covariance of N gradients is refused with one sentence that names the file") {
  const test::TemporaryFolder folder;
  struct Bad {
    const char* text;
    const char* expected;
  };
  for (const Bad& bad : {
           Bad{"", "has 0 lines; a covariance between 2 workers has 2 lines of 2 numbers"},
           Bad{"1,0\n", "has 1 lines"},
           Bad{"1,0\n0,1\n0,0\n", "has 3 lines"},
           Bad{"1,0\n0,1,0\n", "line 2 has 3 numbers"},
           Bad{"1\n0,1\n", "line 1 has 1 numbers"},
           Bad{"1,0\n0,x\n", "line 2, entry 2: \"x\" is no finite number"},
           Bad{"1,\n0,1\n", "line 1, entry 2: \"\" is no finite number"},
           Bad{"1,0 0\n0,1\n", "line 1, entry 2: \"0 0\" is no finite number"},
           Bad{"nan,0\n0,1\n", "line 1, entry 1: \"nan\" is no finite number"},
           Bad{"1,0\n0,1e999\n", "line 2, entry 2: \"1e999\" is no finite number"},
           Bad{"1,0.5\n0.4,1\n", "not symmetric: between workers 0 and 1 it says both 0.5 and 0.4"},
           Bad{"1,1\n1,1\n", "not positive definite"},
           Bad{"1,2\n2,1\n", "not positive definite: its eigenvalues run from -1 to 3"},
           Bad{"0,0\n0,0\n", "not positive definite"},
           Bad{"-1,0\n0,-1\n", "not positive definite"},
       }) {
    CAPTURE(bad.text);
    put(folder / "c.csv", bad.text);
    try {
      static_cast<void>(read_covariance(folder / "c.csv", 2));
      FAIL_CHECK("no complaint");
    } catch (const FileError& error) {
      const std::string text = error.what();
      CAPTURE(text);
      CHECK(text.starts_with((folder / "c.csv").string() + ": "));
      CHECK(text.find(bad.expected) != std::string::npos);
      CHECK(text.find('\n') == std::string::npos);
    }
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(read_covariance(folder / "none.csv", 2)), doctest::Contains("No such file"),
                       FileError);
  CHECK_THROWS_WITH_AS(static_cast<void>(read_covariance(folder / "", 2)), doctest::Contains("folder"), FileError);
}

TEST_CASE("the mean correlation does not depend on the workers' strengths") {
  const Eigen::MatrixXd uniform = uniform_covariance<double>(5, 0.3);
  const Eigen::VectorXd scale = Eigen::VectorXd::LinSpaced(5, 0.5, 3);
  CHECK(mean_correlation(uniform) == doctest::Approx(0.3));
  CHECK(mean_correlation(scale.asDiagonal() * uniform * scale.asDiagonal()) == doctest::Approx(0.3));
  CHECK(mean_correlation(Eigen::MatrixXd::Constant(1, 1, 4)) == 0);
}

}  // namespace
}  // namespace cerar
