#include "experiments/study/fixed_code.h"

#include "coding/atomic_file.h"
#include "coding/conditioning.h"
#include "coding/error.h"
#include "coding/received.h"
#include "experiments/gnuplot.h"
#include "experiments/study/conditioning_point.h"
#include "experiments/study/plot_style.h"
#include "experiments/study/study_folder.h"
#include "experiments/text_table.h"
#include "optimize/parallel.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace cerar {
namespace {

constexpr int first_digits = 40;
constexpr int most_digits = 640;  // a condition number beyond 10^600 is a singular matrix

Matrix<Wide> matrix_of(const EncoderSource& source, const FixedMatrix& which) {
  const Matrices<Wide> encoders = source.encoders();
  if (which.matrix == "M") {
    return received_matrix(encoders, source.decoder, which.index, source.first_kept_round);
  }
  const Matrix<Wide>& encoder = encoders[static_cast<std::size_t>(which.index)];
  return encoder.bottomRows(encoder.rows() - source.first_kept_round + 1);
}

/// Whether every singular value agrees with the one at twice the digits; if so, fills in the figures.
bool confirm(const EncoderSource& source, int digits, FixedMatrix& result) {
  const auto values_at = [&](int precision) {
    const PrecisionScope scope(precision);
    return singular_values_jacobi(matrix_of(source, result));
  };
  const Vector<Wide> values = values_at(digits);
  const Vector<Wide> better = values_at(2 * digits);
  for (Eigen::Index k = 0; k < values.size(); ++k) {
    if (!(better(k) > 0 && abs(Wide(values(k) / better(k) - 1)) <= kAgreement)) {
      return false;
    }
  }
  const PrecisionScope scope(digits);
  const Matrix<Wide> matrix = matrix_of(source, result);
  for (const Wide& value : values) {
    result.values.push_back(static_cast<double>(value));
  }
  result.kappa_double = kappa2(matrix.cast<double>());
  result.kappa_long_double = static_cast<double>(kappa2_jacobi<long double>(matrix.cast<long double>()));
  return true;
}

int confirmed_digits(const EncoderSource& source, std::optional<int> digits, FixedMatrix& result) {
  for (int tried = digits.value_or(first_digits); tried <= (digits ? *digits : most_digits); tried *= 2) {
    if (confirm(source, tried, result)) {
      return tried;
    }
  }
  throw Error(
      digits ? fmt::format("{} digits are too few: a singular value of {}_{} changes when they become {}; give more "
                           "--digits, or auto",
                           *digits, result.matrix, result.index, 2 * *digits)
             : fmt::format("{}_{} is singular: its smallest singular value is zero to {} digits; give encoders of "
                           "full rank",
                           result.matrix, result.index, most_digits));
}

const FixedMatrix& worst(const FixedStudy& study, std::string_view matrix) {
  return *std::max_element(study.matrices.begin(), study.matrices.end(), [&](const auto& one, const auto& other) {
    return (one.matrix == matrix ? one.kappa() : 0) < (other.matrix == matrix ? other.kappa() : 0);
  });
}

void plot_values(const FixedStudy& study, const std::filesystem::path& png) {
  std::string data;
  std::string plots;
  for (const char* matrix : {"A", "M"}) {
    data += fmt::format("${} << EOD\n", matrix);
    for (const FixedMatrix& one : study.matrices) {
      for (std::size_t k = 0; one.matrix == matrix && k < one.values.size(); ++k) {
        data += fmt::format("{} {:.17g}\n", k + 1, one.values[k]);
      }
    }
    const bool stacked = std::string_view(matrix) == "M";
    data += "EOD\n";
    plots += fmt::format("{}${} using 1:2 with points pt {} ps 1 lc rgb '{}' title '{}, every worker'",
                         stacked ? ", \\\n" : "", matrix, stacked ? 6 : 7, plot_colours[stacked ? 1 : 0],
                         stacked ? "M_i, what a worker keeps" : "rows of U_w that are kept");
  }
  const std::string script =
      data + log_log_style() +
      fmt::format(
          "unset logscale x\nset format x '%g'\nset xlabel 'singular value, largest first'\nset ylabel 'size'\n"
          "set title {}\nplot {}\n",
          gnuplot_quoted(fmt::format("Singular values of {}, N = {}, c = {}", study.source.name,
                                     study.source.shape.workers, study.source.shape.chunks)),
          plots);
  draw_with_gnuplot(script, png, 1150, 560);
}

}  // namespace

std::optional<FixedStudy> study_fixed_code(const EncoderSource& source, std::optional<int> digits,
                                           const std::filesystem::path& folder, const StudyHooks& hooks) {
  FixedStudy study{source, 0, {}};
  for (const char* matrix : {"A", "M"}) {
    for (std::int64_t index = 0; index < source.shape.workers; ++index) {
      study.matrices.push_back({matrix, index, {}, 0, 0});
    }
  }
  std::vector<int> used(study.matrices.size(), 0);
  const auto task = [&](std::size_t i) { used[i] = confirmed_digits(source, digits, study.matrices[i]); };
  if (!run_parallel(study.matrices.size(), hooks.threads, task, hooks.stop)) {
    return std::nullopt;
  }
  study.digits = *std::max_element(used.begin(), used.end());
  const StudyFolder kept(
      folder, {{"study", "conditioning of encoders"}, {"source", source.name}, {"fingerprint", source.fingerprint}});
  return study;
}

std::string fixed_code_table(const FixedStudy& study) {
  TextTable table;
  table.add_row({"matrix", "kappa_2", "long double", "double", "largest", "smallest"});
  table.add_rule();
  for (const FixedMatrix& one : study.matrices) {
    table.add_row({fmt::format("{}_{}", one.matrix, one.index), fmt::format("{:.6e}", one.kappa()),
                   fmt::format("{:.6e}", one.kappa_long_double), fmt::format("{:.6e}", one.kappa_double),
                   fmt::format("{:.6e}", one.values.front()), fmt::format("{:.6e}", one.values.back())});
  }
  return fmt::format(
      "{}, N = {}, c = {}: A_w holds the kept rounds' rows of U_w, M_i what worker i keeps\n\n{}\n{} digits, "
      "confirmed at {}\n",
      study.source.name, study.source.shape.workers, study.source.shape.chunks, table.text(), study.digits,
      2 * study.digits);
}

void write_fixed_code(const FixedStudy& study, const std::filesystem::path& folder) {
  std::string values = "matrix,index,k,value\n";
  std::string kappa = "matrix,index,kappa,kappa_double,kappa_long_double\n";
  for (const FixedMatrix& one : study.matrices) {
    for (std::size_t k = 0; k < one.values.size(); ++k) {
      values += fmt::format("{},{},{},{}\n", one.matrix, one.index, k, one.values[k]);
    }
    kappa +=
        fmt::format("{},{},{},{},{}\n", one.matrix, one.index, one.kappa(),
                    std::isfinite(one.kappa_double) ? fmt::format("{}", one.kappa_double) : "", one.kappa_long_double);
  }
  write_file_atomically(folder / "singular_values.csv", values);
  write_file_atomically(folder / "kappa.csv", kappa);
  const nlohmann::ordered_json summary = {{"study", "conditioning of encoders"},
                                          {"source", study.source.name},
                                          {"workers", study.source.shape.workers},
                                          {"chunks", study.source.shape.chunks},
                                          {"kappa", worst(study, "A").kappa()},
                                          {"kappa_stacked", worst(study, "M").kappa()},
                                          {"digits", study.digits}};
  write_file_atomically(folder / "summary.json", summary.dump(2) + "\n");
  plot_values(study, folder / "singular_values.png");
}

}  // namespace cerar
