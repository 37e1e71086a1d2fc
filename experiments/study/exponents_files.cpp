#include "coding/atomic_file.h"
#include "experiments/gnuplot.h"
#include "experiments/study/exponents.h"
#include "experiments/study/plot_style.h"
#include "experiments/text_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace cerar {
namespace {

void plot_exponents(const ExponentStudy& study, const std::filesystem::path& png) {
  std::string data;
  std::string plots;
  for (std::size_t i = 0; i < study.curves.size(); ++i) {
    const ExponentCurve& curve = study.curves[i];
    data += fmt::format("$curve{} << EOD\n", i);
    for (const ExponentPoint& point : curve.points) {
      data += fmt::format("{:.17g} {:.17g}\n", point.eta, point.error);
    }
    data += "EOD\n";
    const bool overlapped = curve.construction == "overlapped";
    const char* colour = plot_colours[i % study.options.chunks.size() % plot_colours.size()];
    plots += fmt::format(
        "{}$curve{} using 1:2 with linespoints pt {} ps 0.9 lw 1.6 {} lc rgb '{}' title '{}, c = {}: "
        "{:.3f} (theory {:.3f})'",
        i == 0 ? "" : ", \\\n", i, overlapped ? 7 : 6, overlapped ? "" : "dt (6,4)", colour, curve.construction,
        curve.shape.chunks, curve.fit.slope, curve.theory);
  }
  const std::string script =
      data + log_log_style() +
      fmt::format(
          "set title {}\nset xlabel 'η, relative rounding error of the wire'\nset ylabel 'relative error of the "
          "sum'\nset xrange [{:.6g}:{:.6g}]\nplot {}\n",
          gnuplot_quoted(fmt::format("The error falls as a power of η, N = {}", study.options.workers)),
          study.options.eta.back(), study.options.eta.front(), plots);
  draw_with_gnuplot(script, png, 1150, 640);
}

}  // namespace

std::string exponents_table(const ExponentStudy& study) {
  TextTable table;
  std::vector<std::string> header = {"eta"};
  std::vector<std::string> slopes = {"exponent"};
  std::vector<std::string> theory = {"theory"};
  for (const ExponentCurve& curve : study.curves) {
    header.push_back(fmt::format("{} {}", curve.construction, curve.shape.chunks));
    slopes.push_back(fmt::format("{:.4f} +- {:.0e}", curve.fit.slope, curve.fit.slope_error));
    theory.push_back(fmt::format("{:.4f}", curve.theory));
  }
  table.add_row(header);
  table.add_rule();
  for (std::size_t i = 0; i < study.options.eta.size(); ++i) {
    std::vector<std::string> row = {fmt::format("{:.1e}", study.options.eta[i])};
    for (const ExponentCurve& curve : study.curves) {
      row.push_back(fmt::format("{:.3e}", curve.points[i].error));
    }
    table.add_row(row);
  }
  table.add_rule();
  table.add_row(slopes);
  table.add_row(theory);
  return fmt::format(
      "relative error of the best code, N = {}, by construction and chunks\n\n{}\n{} digits, confirmed at "
      "{}\nverdict: {}\n",
      study.options.workers, table.text(), study.digits, 2 * study.digits, study.holds ? "holds" : "contradicted");
}

void write_exponents(const ExponentStudy& study, const std::filesystem::path& folder) {
  std::string csv = "construction,workers,chunks,eta,error,delta,eps\n";
  nlohmann::ordered_json curves = nlohmann::ordered_json::array();
  for (const ExponentCurve& curve : study.curves) {
    for (const ExponentPoint& point : curve.points) {
      csv += fmt::format("{},{},{},{},{},{},{}\n", curve.construction, curve.shape.workers, curve.shape.chunks,
                         point.eta, point.error, point.delta, point.eps);
    }
    curves.push_back({{"construction", curve.construction},
                      {"chunks", curve.shape.chunks},
                      {"conditioning_exponent", curve.shape.conditioning_exponent()},
                      {"exponent", curve.fit.slope},
                      {"exponent_error", curve.fit.slope_error},
                      {"theory", curve.theory}});
  }
  write_file_atomically(folder / "exponents.csv", csv);
  const nlohmann::ordered_json summary = {{"study", "exponents"},
                                          {"workers", study.options.workers},
                                          {"digits", study.digits},
                                          {"curves", curves},
                                          {"verdict", study.holds ? "holds" : "contradicted"}};
  write_file_atomically(folder / "summary.json", summary.dump(2) + "\n");
  plot_exponents(study, folder / "exponents.png");
}

}  // namespace cerar
