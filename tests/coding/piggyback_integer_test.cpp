#include "coding/piggyback_integer.h"

#include "coding/code_file.h"
#include "coding/piggyback_integer_reference.h"
#include "coding/simulation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace cerar {

namespace {

constexpr std::uint64_t kSeed = 20261130;

PiggybackCode code_for(std::int64_t workers, std::int64_t chunks, double rho = 0) {
  return make_piggyback_code({workers, chunks}, {.wire = "i32", .eta = kIntegerEta, .correlation = rho});
}

double error_of(const PiggybackCode& code, const Matrices<float>& gradients, int sign = 1) {
  return measured_error<float>(gradients, piggyback_integer_reference(code, gradients, sign)).relative;
}

/// The largest error of one group, relative to that group's own sum, over all groups and workers.
double worst_group(const PiggybackCode& code, const Matrices<float>& gradients) {
  const Matrices<float> results = piggyback_integer_reference(code, gradients);
  Matrix<double> sum = Matrix<double>::Zero(results[0].rows(), results[0].cols());
  for (const Matrix<float>& gradient : gradients) {
    sum += gradient.cast<double>();
  }
  double worst = 0;
  const Eigen::Index width = code.shape.workers;
  for (const Matrix<float>& result : results) {
    for (Eigen::Index first = 0; first < sum.cols(); first += width) {
      const double error = (result.cast<double>() - sum).middleCols(first, width).norm();
      const double norm = sum.middleCols(first, width).norm();
      worst = std::max(worst, norm == 0 ? error : error / norm);
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("int32 words: the errors to reach, and the prediction within ten percent") {
  MESSAGE("seed " << kSeed);
  struct Goal {
    std::int64_t workers, chunks;
    double rho, most;
  };
  for (const Goal& goal :
       {Goal{3, 12, 0, 1.2e-5}, Goal{4, 12, 0, 1.5e-5}, Goal{4, 32, 0, 1.7e-5}, Goal{5, 30, 0, 1.9e-5},
        Goal{8, 24, 0, 2.2e-5}, Goal{8, 64, 0, 2.5e-5}, Goal{16, 64, 0, 3.0e-5}, Goal{8, 64, 0.9, 0.9e-5}}) {
    CAPTURE(goal.workers);
    CAPTURE(goal.chunks);
    CAPTURE(goal.rho);
    const PiggybackCode code = code_for(goal.workers, goal.chunks, goal.rho);
    const auto all = random_gradients<float>(code.shape, 4096, goal.rho, kSeed);
    for (const int sign : {1, -1}) {
      const double error = error_of(code, all, sign);
      CHECK(error <= goal.most);
      CHECK(error == doctest::Approx(code.predicted_relative_error).epsilon(0.10).scale(0));
    }
  }
}

TEST_CASE("int32 words are exact integer sums, in whatever order they are formed, and none overflows") {
  for (const double outlier : {0.0, 1e3, 1e30}) {
    CAPTURE(outlier);
    const PiggybackCode code = code_for(4, 12);
    const std::int64_t workers = 4;
    const Eigen::Index values = 500;
    auto all = random_gradients<float>(code.shape, values, 0, kSeed);
    for (Eigen::Index chunk = 0; chunk < 12; ++chunk) {
      all[static_cast<std::size_t>(chunk % 4)](chunk, chunk) += static_cast<float>(outlier);
    }
    std::vector<float> rms;
    for (const Matrix<float>& gradient : all) {
      for (Eigen::Index chunk = 0; chunk < 12; ++chunk) {
        rms.push_back(chunk_rms(gradient.col(chunk).data(), values, values));
      }
    }
    std::vector<IntegerScale> scales;
    integer_scales(code, rms, 12, values, 1, scales);
    std::map<std::pair<std::int64_t, std::int64_t>, IntegerMessage> led;  // M_g by (g, m)
    // What worker m + w contributes to chunk (g, m), in steps.
    const auto steps = [&](std::int64_t group, std::int64_t chain, std::int64_t role, Eigen::Index x) {
      const IntegerScale& scale = scales[static_cast<std::size_t>(group * workers + chain)];
      const Matrix<float>& mine = all[static_cast<std::size_t>((chain + role) % workers)];
      const double premix = piggyback_coefficients(role, workers, scale.mixed, 0).premix;
      const double next = group == 2 ? 0 : static_cast<double>(mine(x, (group + 1) * workers + chain));
      const double b = static_cast<double>(mine(x, group * workers + chain)) + next * premix;
      return static_cast<std::int64_t>(
          std::nearbyint(b * inverse_or_zero(scale.step(group == 0 ? 0 : led[{group - 1, chain}].peak))));
    };
    std::int64_t wrong = 0;
    std::int64_t checked = 0;
    (void)piggyback_integer_reference(code, all, 1, [&](std::int64_t round, std::int64_t worker, const auto& message) {
      const auto [chain, role, pass] = piggyback_role(worker, round, workers);
      if (role == workers - 1 && pass < 3) {
        led[{pass, chain}] = message;
        return;
      }
      if (pass == 3) {
        wrong += message.words == led[{2, chain}].words ? 0 : 1;
        return;
      }
      for (Eigen::Index x = 0; x < values; ++x) {
        std::int64_t word = 0;
        for (std::int64_t k = role; k >= 0; --k) {  // the other way round
          word += steps(pass, chain, k, x);
        }
        word += pass > 0 ? led[{pass - 1, chain}].words[static_cast<std::size_t>(x)] : 0;
        wrong += word == message.words[static_cast<std::size_t>(x)] ? 0 : 1;
        ++checked;
      }
    });
    CHECK(checked == 3 * 3 * 4 * values);
    CHECK(wrong == 0);
  }
}

TEST_CASE("int32 words: no data spoils them") {
  const PiggybackCode code = code_for(4, 32);
  const Eigen::Index values = 2000;
  const auto normal = random_gradients<float>(code.shape, values, 0, kSeed);
  const auto changed = [&](const std::function<void(Matrices<float>&)>& change) {
    Matrices<float> all = normal;
    change(all);
    return all;
  };
  SUBCASE("one huge value") {
    CHECK(worst_group(code, changed([](Matrices<float>& all) { all[2](17, 13) = 1e9F; })) < 1.5e-4);
  }
  SUBCASE("heavy tails: quotients of normal numbers") {
    CHECK(worst_group(code, changed([](Matrices<float>& all) {
                        all[0] = all[0].cwiseQuotient(all[1]);
                        all[2] = all[2].cwiseQuotient(all[3]);
                      })) < 2.5e-4);
  }
  SUBCASE("identical gradients, though the code is for independent ones") {
    CHECK(worst_group(code, changed([](Matrices<float>& all) { all[1] = all[2] = all[3] = all[0]; })) < 3e-5);
  }
  SUBCASE("one worker alone has anything") {
    CHECK(worst_group(code, changed([](Matrices<float>& all) {
                        all[0].setZero();
                        all[1].setZero();
                        all[3].setZero();
                      })) < 5e-5);
  }
  SUBCASE("groups that differ by up to 1e20 keep their relative errors, zeros stay zeros") {
    const auto all = changed([](Matrices<float>& gradients) {
      const std::vector<float> scale = {1, 1e4F, 1, 0, 1e-10F, 1e10F, 0, 1};
      for (Matrix<float>& gradient : gradients) {
        for (Eigen::Index chunk = 0; chunk < gradient.cols(); ++chunk) {
          gradient.col(chunk) *= scale[static_cast<std::size_t>(chunk / 4)];
        }
      }
    });
    CHECK(worst_group(code, all) < 5e-5);
    for (const Matrix<float>& result : piggyback_integer_reference(code, all)) {
      CHECK(result.middleCols(12, 4).cwiseAbs().maxCoeff() == 0.0F);
      CHECK(result.middleCols(24, 4).cwiseAbs().maxCoeff() == 0.0F);
    }
  }
  SUBCASE("sums that cancel to 1e-3 of their parts have the error of the parts") {
    CHECK(worst_group(code, changed([](Matrices<float>& all) {
                        all[1] = -all[0] + 1e-3F * all[1];
                        all[3] = -all[2] + 1e-3F * all[3];
                      })) < 5e-2);
  }
  SUBCASE("from the smallest normal float to the largest allowed sum") {
    for (const float scale : {1e-36F, 1e-20F, 1e20F, 4e36F}) {
      CAPTURE(scale);
      CHECK(worst_group(code, changed([&](Matrices<float>& all) {
                          for (Matrix<float>& gradient : all) {
                            gradient *= scale;
                          }
                        })) < 5e-5);
    }
  }
  SUBCASE("nothing but zeros") {
    CHECK(worst_group(code, changed([](Matrices<float>& all) {
                        for (Matrix<float>& gradient : all) {
                          gradient.setZero();
                        }
                      })) == 0);
  }
}

TEST_CASE("int32 words: chunks of no value, of one and of a few, on 3 to 17 workers") {
  for (const std::int64_t workers : {3, 4, 5, 6, 7, 8, 17}) {
    for (const Eigen::Index values : {0, 1, 2, 5}) {
      CAPTURE(workers);
      CAPTURE(values);
      const PiggybackCode code = code_for(workers, 3 * workers);
      const auto all = random_gradients<float>(code.shape, values, 0, kSeed);
      CHECK((values == 0 || error_of(code, all) < 1e-4));
    }
  }
}

TEST_CASE("a sum beyond the words' range is refused") {
  const PiggybackCode code = code_for(3, 9);
  Matrices<float> all(3, Matrix<float>::Constant(10, 9, 1.0F));
  all[0](3, 4) = 8e37F;
  CHECK_NOTHROW((void)piggyback_integer_reference(code, all));
  all[1](3, 4) = 8e37F;
  CHECK_THROWS_WITH_AS((void)piggyback_integer_reference(code, all), doctest::Contains("a sum of 1.6e+38"),
                       std::overflow_error);
  // The parts may be large where the sum is not.
  all[1](3, 4) = -8e37F;
  CHECK_NOTHROW((void)piggyback_integer_reference(code, all));
}

TEST_CASE("chunk_rms bounds every value, whatever its size") {
  for (const float value : {1e-45F, 1e-38F, 1.0F, 3e38F}) {
    std::vector<float> values(37, 0.0F);
    values[36] = -value;
    const double bound = std::sqrt(100.0) * static_cast<double>(chunk_rms(values.data(), 37, 100));
    CHECK(bound >= static_cast<double>(value));
    CHECK(bound <= std::max(1.000001 * static_cast<double>(value), 2e-44));
  }
  CHECK(chunk_rms(nullptr, 0, 100) == 0.0F);
}

TEST_CASE("integers are the nearest ones, ties even") {
  CHECK(nearest_integer(2.5) == 2);
  CHECK(nearest_integer(-3.5) == -4);
  CHECK(nearest_integer(2147483646.7) == 2147483647);
  CHECK(nearest_integer(-2147483647.0) == -2147483647);
}

TEST_CASE("a code for int32 words in a file, and codes that cannot be") {
  const PiggybackCode code = code_for(4, 12, 0.25);
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "cerar_piggyback_integer.json";
  write_code_file(code, path);
  const auto read = std::get<PiggybackCode>(read_code_file(path));
  CHECK(read.is_integer());
  CHECK(hash(read) == hash(code));
  CHECK(read.predicted_relative_error == code.predicted_relative_error);
  std::filesystem::remove(path);

  PiggybackCode other = code;
  other.noise.wire = "f32";
  CHECK(hash(other) != hash(code));
  other = code;
  other.noise.correlation = 0.5;  // the steps depend on it
  CHECK(hash(other) != hash(code));
  other = code;
  other.noise.wire = "i24";
  CHECK_THROWS_WITH_AS(validate(other), doctest::Contains("\"i24\" is unknown"), std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)code_for(2, 8), doctest::Contains("f32"), std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)code_for(4, 4), doctest::Contains("8 chunks"), std::invalid_argument);
  CHECK_THROWS_AS((void)make_piggyback_code({4, 12}, {.wire = "i32", .eta = kIntegerEta}, false),
                  std::invalid_argument);
  CHECK_THROWS_AS((void)piggyback_integer_reference(make_piggyback_code({4, 12}, {.eta = 2.5e-8}), {}),
                  std::invalid_argument);
}

}  // namespace cerar
