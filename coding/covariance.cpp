#include "coding/covariance.h"

#include "coding/atomic_file.h"
#include "coding/error.h"

#include <Eigen/Eigenvalues>
#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {
namespace {

constexpr double symmetry_tolerance = 1e-9;

std::string_view trimmed(std::string_view text) {
  constexpr const char* blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

/// The numbers of one line; `place` begins every complaint.
std::vector<double> numbers(std::string_view line, const std::string& place) {
  std::vector<double> values;
  for (bool more = true; more;) {
    const std::size_t comma = line.find(',');
    const std::string_view field = trimmed(line.substr(0, comma));
    double value = 0;
    const auto result = std::from_chars(field.data(), field.data() + field.size(), value);
    if (result.ec != std::errc() || result.ptr != field.data() + field.size() || !std::isfinite(value)) {
      throw FileError(
          fmt::format("{}, entry {}: \"{}\" is no finite number", place, values.size() + 1, field.substr(0, 40)));
    }
    values.push_back(value);
    more = comma != std::string_view::npos;
    line.remove_prefix(more ? comma + 1 : line.size());
  }
  return values;
}

}  // namespace

void validate_covariance(const Eigen::MatrixXd& covariance, std::int64_t workers) {
  if (covariance.rows() != workers || covariance.cols() != workers) {
    throw std::invalid_argument(fmt::format("the covariance is {} x {}; {} workers need {} x {}", covariance.rows(),
                                            covariance.cols(), workers, workers, workers));
  }
  if (!covariance.allFinite()) {
    throw std::invalid_argument("the covariance has entries that are not finite");
  }
  for (Eigen::Index row = 0; row < workers; ++row) {
    for (Eigen::Index column = 0; column < row; ++column) {
      const double gap = std::abs(covariance(row, column) - covariance(column, row));
      if (gap > symmetry_tolerance * covariance.cwiseAbs().maxCoeff()) {
        throw std::invalid_argument(
            fmt::format("the covariance is not symmetric: between workers {} and {} it says both {:g} and {:g}", column,
                        row, covariance(column, row), covariance(row, column)));
      }
    }
  }
  const Eigen::VectorXd eigenvalues =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(covariance, Eigen::EigenvaluesOnly).eigenvalues();
  const double largest = eigenvalues(workers - 1);
  const double margin = 16 * static_cast<double>(workers) * std::numeric_limits<double>::epsilon();
  if (!(eigenvalues(0) > margin * largest)) {
    throw std::invalid_argument(
        fmt::format("the covariance is not positive definite: its eigenvalues run from {:.3g} to {:.3g}, so some "
                    "combination of the workers' gradients would always be zero",
                    eigenvalues(0), largest));
  }
}

double mean_correlation(const Eigen::MatrixXd& covariance) {
  const auto workers = static_cast<double>(covariance.rows());
  if (workers < 2) {
    return 0;
  }
  const Eigen::VectorXd scale = covariance.diagonal().cwiseSqrt().cwiseInverse();
  return ((scale.asDiagonal() * covariance * scale.asDiagonal()).sum() - workers) / (workers * (workers - 1));
}

Eigen::MatrixXd read_covariance(const std::filesystem::path& path, std::int64_t workers) {
  std::ifstream file(path);
  std::error_code error;
  if (!file || std::filesystem::is_directory(path, error)) {
    throw FileError(
        fmt::format("{}: cannot be read: {}", path.string(), file ? "it is a folder" : std::strerror(errno)));
  }
  std::vector<std::vector<double>> rows;
  for (std::string line; std::getline(file, line);) {
    if (!trimmed(line).empty()) {
      const std::string place = fmt::format("{}: line {}", path.string(), rows.size() + 1);
      rows.push_back(numbers(line, place));
      if (static_cast<std::int64_t>(rows.back().size()) != workers) {
        throw FileError(fmt::format("{} has {} numbers; a covariance between {} workers has {} lines of {}", place,
                                    rows.back().size(), workers, workers, workers));
      }
    }
  }
  if (static_cast<std::int64_t>(rows.size()) != workers) {
    throw FileError(fmt::format("{}: has {} lines; a covariance between {} workers has {} lines of {} numbers",
                                path.string(), rows.size(), workers, workers, workers));
  }
  Eigen::MatrixXd covariance(workers, workers);
  for (Eigen::Index row = 0; row < workers; ++row) {
    covariance.row(row) = Eigen::Map<Eigen::RowVectorXd>(rows[static_cast<std::size_t>(row)].data(), workers);
  }
  try {
    validate_covariance(covariance, workers);
  } catch (const std::invalid_argument& invalid) {
    throw FileError(fmt::format("{}: {}", path.string(), invalid.what()));
  }
  return covariance;
}

void write_covariance(const Eigen::MatrixXd& covariance, const std::filesystem::path& path) {
  std::string text;
  for (Eigen::Index row = 0; row < covariance.rows(); ++row) {
    for (Eigen::Index column = 0; column < covariance.cols(); ++column) {
      text += fmt::format("{}{}", column == 0 ? "" : ",", covariance(row, column));
    }
    text += '\n';
  }
  write_file_atomically(path, text);
}

}  // namespace cerar
