#include "experiments/study/fit_report.h"

#include "coding/atomic_file.h"
#include "coding/code_file.h"
#include "coding/conditioning.h"
#include "coding/covariance.h"
#include "coding/error.h"
#include "coding/prediction.h"
#include "coding/received.h"
#include "coding/window_family.h"
#include "experiments/gnuplot.h"
#include "experiments/study/plot_style.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace cerar {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 8> kFiles{"code.json",           "convergence.csv",     "convergence.png",
                                                 "singular_values.csv", "singular_values.png", "errors.csv",
                                                 "errors.png",          "blocks.csv"};

/// A folder beside `beside`, removed at the end with all that is still in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(fs::path beside) {
    std::string pattern = beside.string() + ".partial-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw FileError(fmt::format("{}: the report cannot be written there; give --report a place that you may write to",
                                  beside.string()));
    }
    path_ = pattern;
    fs::permissions(path_, fs::perms::all & ~fs::perms::group_write & ~fs::perms::others_write);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  [[nodiscard]] fs::path operator/(std::string_view name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// Without a slash at the end, so that a name beside it can be made.
fs::path plain(const fs::path& folder) {
  const fs::path absolute = fs::absolute(folder).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

std::string title(const Code& code) {
  return fmt::format("{} code, N = {}, c = {}, {}", code.construction.name, code.shape.workers, code.shape.chunks,
                     code.noise.wire);
}

void report_convergence(const FitResult& result, const TemporaryFolder& folder) {
  std::string csv = "start,best,improvement,relative_error,from\n";
  std::string data;
  std::vector<std::string> curves;
  std::string best_curve;
  for (std::size_t k = 0; k < result.starts.size(); ++k) {
    const FitStart& start = result.starts[k];
    if (!start.begun()) {
      continue;
    }
    std::vector<double> errors = {start.closed_form_error};
    errors.insert(errors.end(), start.history.begin(), start.history.end());
    const bool best = k == result.best_start;
    data += fmt::format("$start{} << EOD\n", k);
    for (std::size_t step = 0; step < errors.size(); ++step) {
      csv += fmt::format("{},{},{},{},\"{}\"\n", k, best ? 1 : 0, step, errors[step], start.from);
      data += errors[step] > 0 ? fmt::format("{} {}\n", step, 100 * errors[step]) : "";
    }
    data += "EOD\n";
    const std::string curve =
        fmt::format("$start{} using 1:2 with linespoints pt 7 ps 0.3 lw {} lc rgb '{}' {}", k, best ? 3 : 1,
                    plot_colours[best ? 1 : 5],
                    best ? fmt::format("title {}", gnuplot_quoted("the best, from " + start.from)) : "notitle");
    if (errors.front() > 0) {
      (best ? best_curve : curves.emplace_back()) = curve;
    }
  }
  if (!best_curve.empty()) {
    curves.push_back(best_curve);  // over the others
  }
  write_file_atomically(folder / "convergence.csv", csv);
  if (curves.empty()) {
    return;  // exact from the start: a logarithmic axis has no place for it
  }
  draw_with_gnuplot(
      data + log_log_style() +
          fmt::format(
              "unset logscale x\nset format x '%g'\nset format y '%g'\nset rmargin 4\nset bmargin 4\n"
              "set key right top at graph 1, graph 1\nset xlabel 'improvement; 0: the closed form'\n"
              "set ylabel 'predicted relative error, %'\nset title {}\nplot {}\n",
              gnuplot_quoted(fmt::format("Convergence of {} descents: {}", result.starts.size(), title(result.code))),
              fmt::join(curves, ", \\\n")),
      folder / "convergence.png", 900, 560);
}

/// What is decomposed: the first c rows of U_w, or M_w.
Eigen::MatrixXd matrix_of(const Code& code, std::int64_t worker, bool stacked) {
  return stacked ? received_matrix(code.encoders, code.decoder, worker, code.first_kept_round)
                 : Eigen::MatrixXd(code.encoders[static_cast<std::size_t>(worker)].topRows(
                       std::min(code.shape.chunks, code.shape.rounds())));
}

void report_singular_values(const Code& code, const TemporaryFolder& folder) {
  std::string csv = "matrix,worker,k,value,level\n";
  bool anything = false;
  std::string data;
  std::string plots;
  for (const bool stacked : {false, true}) {
    const char* matrix = stacked ? "M" : "A";
    const std::vector<double> levels = theorem_levels(code, stacked);
    std::string points;
    for (std::int64_t worker = 0; worker < code.shape.workers; ++worker) {
      const Eigen::VectorXd values = singular_values(matrix_of(code, worker, stacked));
      for (Eigen::Index k = 0; k < values.size(); ++k) {
        const auto index = static_cast<std::size_t>(k);
        csv += fmt::format("{},{},{},{},{}\n", matrix, worker, k, values(k),
                           index < levels.size() ? fmt::format("{}", levels[index]) : "");
        anything = anything || values(k) > 0;
        points += values(k) > 0 ? fmt::format("{} {}\n", k + 1, values(k)) : "";
      }
    }
    data += fmt::format("${} << EOD\n{}EOD\n", matrix, points);
    plots += fmt::format("{}${} using 1:2 with points pt {} ps 1 lc rgb '{}' title '{}, every worker'",
                         stacked ? ", \\\n" : "", matrix, stacked ? 6 : 7, plot_colours[stacked ? 1 : 0],
                         stacked ? "M_i, what a worker keeps" : "the first c rows of U_w");
    if (!levels.empty()) {
      data += fmt::format("$levels{} << EOD\n", matrix);
      for (std::size_t k = 0; k < levels.size(); ++k) {
        const char* gap = k > 0 && levels[k] != levels[k - 1] ? "\n" : "";
        data += fmt::format("{0}{1} {3}\n{2} {3}\n", gap, static_cast<double>(k) + 0.5, static_cast<double>(k) + 1.5,
                            levels[k]);
      }
      data += "EOD\n";
      plots += fmt::format(", \\\n$levels{} using 1:2 with lines lw {} dt {} lc rgb '{}' title 'order by theory, {}'",
                           matrix, stacked ? 1.5 : 3, stacked ? 2 : 1, plot_colours[stacked ? 1 : 5],
                           stacked ? "M_i" : "U_w");
    }
  }
  write_file_atomically(folder / "singular_values.csv", csv);
  if (!anything) {
    return;  // a single worker sends nothing
  }
  draw_with_gnuplot(data + log_log_style() +
                        fmt::format("set termoption noenhanced\nset bmargin 4\nunset logscale x\nset format x '%g'\n"
                                    "set format y '%.0e'\nset xlabel 'singular value, largest first'\n"
                                    "set ylabel 'size'\nset title {}\nplot {}\n",
                                    gnuplot_quoted("Singular values: " + title(code)), plots),
                    folder / "singular_values.png", 1150, 560);
}

/// One heat map of gnuplot: rows are workers, values are percent.
std::string heat_map(std::string_view data, const std::string& title, std::string_view columns, std::int64_t count) {
  return fmt::format(
      "set title {}\nset xlabel '{}'\nset ylabel 'worker'\nset cblabel '%'\nset xtics 0,{}\n"
      "plot ${} matrix using 1:2:3 with image notitle\n",
      gnuplot_quoted(title), columns, 1 + (count - 1) / 8, data);
}

void report_errors(const Code& code, const TemporaryFolder& folder) {
  const RingShape& shape = code.shape;
  const ErrorPrediction prediction = predict_error(code);
  // Of a chunk's sum; the norm of a block is over all c chunks of it.
  const double chunk = std::sqrt(worker_covariance(code.noise, shape.workers).sum());
  const double whole = chunk * std::sqrt(static_cast<double>(shape.chunks));
  std::string errors = "worker,chunk,deterministic,noise,relative_error\n";
  std::string blocks = "worker,source,norm,relative_error\n";
  std::string error_map;
  std::string block_map;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    const WorkerError& error = prediction.workers[static_cast<std::size_t>(worker)];
    for (std::int64_t k = 0; k < shape.chunks; ++k) {
      const double relative = std::hypot(error.deterministic(k), error.noise(k)) / chunk;
      errors += fmt::format("{},{},{},{},{}\n", worker, k, error.deterministic(k), error.noise(k), relative);
      error_map += fmt::format("{} ", 100 * relative);
    }
    const Eigen::MatrixXd map = result_map(code, worker);
    for (std::int64_t source = 0; source < shape.workers; ++source) {
      const double norm =
          (map.middleRows(source * shape.chunks, shape.chunks) - Eigen::MatrixXd::Identity(shape.chunks, shape.chunks))
              .norm();
      blocks += fmt::format("{},{},{},{}\n", worker, source, norm, norm / whole);
      block_map += fmt::format("{} ", 100 * norm / whole);
    }
    error_map += "\n";
    block_map += "\n";
  }
  write_file_atomically(folder / "errors.csv", errors);
  write_file_atomically(folder / "blocks.csv", blocks);
  draw_with_gnuplot(
      fmt::format("$errors << EOD\n{}EOD\n$blocks << EOD\n{}EOD\n", error_map, block_map) +
          fmt::format("set multiplot layout 1,2 title {} noenhanced font ',14'\n"
                      "set palette defined (0 '#ffffff', 0.5 '{}', 1 '#002040')\nset cbrange [0:*]\n"
                      "set tics out nomirror\nset autoscale xfix\nset autoscale yfix\nset format cb '%.2g'\n"
                      "set rmargin 14\nset bmargin 4\nset ytics 0,{}\n",
                      gnuplot_quoted("Predicted relative error: " + title(code)), plot_colours[0],
                      1 + (shape.workers - 1) / 8) +
          heat_map("errors", "by chunk, with rounding", "chunk", shape.chunks) +
          heat_map("blocks", "by block, in exact arithmetic", "whose gradient", shape.workers) + "unset multiplot\n",
      folder / "errors.png", 1300, 520);
}

}  // namespace

std::vector<double> theorem_levels(const Code& code, bool stacked) {
  const auto& parameters = code.construction.parameters;
  const std::string& name = code.construction.name;
  const bool overlapped = name == "overlapped";
  if (code.decoder != Decoder::own_exact || code.shape.workers < 2 || parameters.contains("second") ||
      !parameters.contains(overlapped ? "delta" : "eps")) {
    return {};
  }
  const auto by_default = overlapped ? std::int64_t{1} : std::max<std::int64_t>(1, code.shape.workers - 1);
  if (stacked && code.first_kept_round != by_default) {
    return {};
  }
  std::vector<double> levels;
  if (overlapped) {
    // N rows of the head, in M_i 2 N - 2 columns of it; the tail's levels are the cyclic code's, delta times.
    levels.assign(static_cast<std::size_t>(stacked ? 2 * code.shape.workers - 2 : code.shape.workers), 1.0);
  }
  const double eps = parameters.contains("eps") ? parameters.at("eps") : 1;
  const double size = overlapped ? parameters.at("delta") : 1;
  const std::int64_t rows = code.shape.chunks - (overlapped ? code.shape.workers : 0);
  for (const std::int64_t order : difference_orders(code.shape.workers, rows)) {
    levels.push_back(size * std::pow(eps, static_cast<double>(order)));
  }
  return levels;
}

void require_report_folder(const fs::path& folder) {
  const fs::path path = plain(folder);
  std::error_code error;
  if (!fs::exists(path)) {
    if (!fs::is_directory(path.parent_path())) {
      throw FileError(fmt::format("{}: the report cannot be written: there is no folder {}; make it first",
                                  folder.string(), path.parent_path().string()));
    }
  } else if (!fs::is_directory(path)) {
    throw FileError(fmt::format("{}: is a file; give --report a folder", folder.string()));
  } else {
    for (const auto& entry : fs::directory_iterator(path, error)) {
      const std::string name = entry.path().filename().string();
      if (std::find(kFiles.begin(), kFiles.end(), name) == kFiles.end()) {
        throw FileError(
            fmt::format("{}: holds other things than a report ({}); give a new or an empty folder to --report",
                        folder.string(), name));
      }
    }
  }
  const fs::path written = fs::exists(path) ? path : path.parent_path();
  if (error || access(written.c_str(), W_OK | X_OK) != 0) {
    throw FileError(fmt::format("{}: the report cannot be written there; give --report a place that you may write to",
                                folder.string()));
  }
  (void)TemporaryFolder(path);
}

void write_fit_report(const FitResult& result, const fs::path& folder) {
  require_report_folder(folder);
  const fs::path path = plain(folder);
  const TemporaryFolder work(path);
  write_code_file(result.code, work / "code.json");
  report_convergence(result, work);
  report_singular_values(result.code, work);
  report_errors(result.code, work);
  fs::create_directory(path);
  for (const std::string_view name : kFiles) {
    if (fs::exists(work / name)) {
      fs::rename(work / name, path / name);
    } else {
      fs::remove(path / name);  // of an earlier report; this one has nothing to draw there
    }
  }
}

}  // namespace cerar
