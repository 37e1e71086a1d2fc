#pragma once

#include "coding/code.h"
#include "coding/matrix.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cerar::test {

using TemporaryFolder = testing::Folder;

/// Small integers: sums of products of them are exact in double, so that two ways to compute them must agree to the
/// bit.
inline Eigen::MatrixXd integer_matrix(std::int64_t rows, std::int64_t columns, std::mt19937_64& engine) {
  return Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return static_cast<double>(engine() % 7) - 3; });
}

/// A code with integer U and R of the right shape, good for nothing but arithmetic.
inline Code integer_code(const RingShape& shape, Decoder decoder, std::int64_t first_kept_round, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Code code;
  code.shape = shape;
  code.decoder = decoder;
  code.first_kept_round = first_kept_round;
  code.construction.name = "test";
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    code.encoders.push_back(integer_matrix(shape.rounds(), shape.chunks, engine));
    code.decoders.push_back(integer_matrix(code.kept(), shape.chunks, engine));
  }
  return code;
}

inline Matrices<double> integer_gradients(const RingShape& shape, std::int64_t values, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Matrices<double> gradients;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    gradients.push_back(integer_matrix(values, shape.chunks, engine));
  }
  return gradients;
}

/// A code made by a program that shares no line with this one, and the errors stated for it.
struct ReferenceCode {
  Code code;
  double predicted = 0;  ///< under noise of 1e-7: of every hop for overlapped_*, of every kept vector for cyclic_*
  double simulated = 0;  ///< in float32
};

inline ReferenceCode read_reference_code(const std::string& name) {
  std::ifstream stream(std::string(CERAR_TEST_DATA "/reference_codes/") + name + ".json");
  REQUIRE(stream);
  const nlohmann::json document = nlohmann::json::parse(stream);
  const auto matrices = [&](const char* key) {
    Matrices<double> result;
    for (const auto& rows : document.at(key).get<std::vector<std::vector<std::vector<double>>>>()) {
      Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows.at(0).size()));
      for (std::size_t row = 0; row < rows.size(); ++row) {
        for (std::size_t column = 0; column < rows[row].size(); ++column) {
          matrix(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) = rows[row][column];
        }
      }
      result.push_back(std::move(matrix));
    }
    return result;
  };
  ReferenceCode reference;
  reference.code.shape = {document.at("workers").get<std::int64_t>(), document.at("chunks").get<std::int64_t>()};
  reference.code.first_kept_round = document.at("first_kept_round").get<std::int64_t>();
  reference.code.encoders = matrices("U");
  reference.code.decoders = matrices("R");
  const bool overlapped = name.starts_with("overlapped");
  reference.predicted =
      document.at(overlapped ? "predicted_relative_error_eta_1e7" : "predicted_relative_error_white_eta_1e7")
          .get<double>();
  reference.simulated = document.at("simulated_relative_error_float32").get<double>();
  return reference;
}

inline const std::vector<std::string>& reference_code_names() {
  static const std::vector<std::string> names = {"overlapped_4_5_closed_form",
                                                 "overlapped_4_5_polished",
                                                 "overlapped_4_12_closed_form",
                                                 "overlapped_4_12_polished",
                                                 "overlapped_8_24_polished",
                                                 "cyclic_4_5",
                                                 "cyclic_4_12",
                                                 "cyclic_8_16"};
  return names;
}

}  // namespace cerar::test
