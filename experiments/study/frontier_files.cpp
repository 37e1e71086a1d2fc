#include "coding/atomic_file.h"
#include "experiments/gnuplot.h"
#include "experiments/study/frontier.h"
#include "experiments/study/plot_style.h"
#include "experiments/text_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace cerar {
namespace {

std::string error_name(const FrontierStudy& study) {
  return study.options.own_block == OwnBlock::included ? "sqrt(Phi) / (N sqrt(c))"
                                                       : "relative error, own contribution exact";
}

std::string slope_text(const FrontierFamily& family) {
  return family.fit ? fmt::format("{:.4f} ± {:.4f}", family.fit->slope, family.slope_error) : "-";
}

void plot_frontier(const FrontierStudy& study, const std::filesystem::path& png) {
  std::string data;
  std::string plots;
  for (std::size_t i = 0; i < study.families.size(); ++i) {
    const FrontierFamily& family = study.families[i];
    if (family.points.empty()) {
      continue;
    }
    data += fmt::format("$family{} << EOD\n", i);
    for (const FrontierPoint& point : family.points) {
      data += fmt::format("{:.17g} {:.17g}\n", point.kappa, point.error);
    }
    data += "EOD\n";
    // Open squares show through the dots of a family that is as good.
    const bool shift = family.name == "mpc-shift";
    plots +=
        fmt::format("{}$family{} using 1:2 with linespoints pt {} ps {} lw 1.6 {} lc rgb '{}' title '{}: slope {}'",
                    plots.empty() ? "" : ", \\\n", i, shift ? 4 : 7, shift ? 1.5 : 0.9, shift ? "dt (6,4)" : "",
                    plot_colours[i], family.name, slope_text(family));
  }
  const std::vector<FrontierPoint>& best = study.families.back().points;
  if (!best.empty()) {
    plots += fmt::format(
        ", \\\n{:.17g} * (x / {:.17g}) ** ({:.17g}) lc rgb '#888888' dt (2,4) lw 1.4 title 'theory: slope -1/r* = "
        "{:.3f}'",
        best.back().error * 0.6, best.back().kappa, study.theory, study.theory);
  }
  const std::string script =
      data + log_log_style() +
      fmt::format(
          "set title {}\nset xlabel 'κ_2 of the stacked matrices M_i, largest over the workers'\n"
          "set ylabel '{}'\nset xrange [{:.6g}:{:.6g}]\nplot {}\n",
          gnuplot_quoted(fmt::format("Error against conditioning, without noise: N = {}, c = {}",
                                     study.options.shape.workers, study.options.shape.chunks)),
          study.options.own_block == OwnBlock::included ? "√Φ / (N √c)" : "relative error of the sum",
          0.97 * study.options.kappa.front(), 1.03 * study.options.kappa.back(), plots);
  draw_with_gnuplot(script, png, 1150, 640);
}

const FrontierPoint* at(const FrontierFamily& family, double bound) {
  const auto found = std::find_if(family.points.begin(), family.points.end(),
                                  [&](const FrontierPoint& point) { return point.kappa_max == bound; });
  return found == family.points.end() ? nullptr : &*found;
}

}  // namespace

std::string frontier_table(const FrontierStudy& study) {
  TextTable table;
  std::vector<std::string> header = {"kappa at most"};
  std::vector<std::string> slopes = {"slope"};
  std::string left_out;
  for (const FrontierFamily& family : study.families) {
    header.push_back(family.name);
    slopes.push_back(family.fit ? fmt::format("{:.4f} +- {:.4f}", family.fit->slope, family.slope_error) : "-");
    if (family.points.size() < study.options.kappa.size()) {
      left_out += fmt::format("{}: smallest kappa of the closed form {:.4g}; bounds below it are left out\n",
                              family.name, family.smallest_kappa);
    }
  }
  table.add_row(header);
  table.add_rule();
  for (const double bound : study.options.kappa) {
    std::vector<std::string> row = {fmt::format("{:.2e}", bound)};
    for (const FrontierFamily& family : study.families) {
      const FrontierPoint* point = at(family, bound);
      row.push_back(point != nullptr ? fmt::format("{:.3e}", point->error) : "-");
    }
    table.add_row(row);
  }
  table.add_rule();
  table.add_row(slopes);
  return fmt::format(
      "noise-free {}, N = {}, c = {}; mpc: best of {} seeds\n\n{}\n{}slopes of the upper half, with 95 % "
      "confidence; "
      "theory -1/r* = {:.3f}\n{}, {}\nverdict: {}\n",
      error_name(study), study.options.shape.workers, study.options.shape.chunks, study.options.seeds, table.text(),
      left_out, study.theory, study.monotone ? "monotone" : "NOT monotone",
      study.feasible ? "every kappa within its bound" : "NOT every kappa within its bound",
      study.holds ? "holds" : "contradicted");
}

void write_frontier(const FrontierStudy& study, const std::filesystem::path& folder) {
  std::string csv = "family,kappa_max,kappa,error\n";
  nlohmann::ordered_json families = nlohmann::ordered_json::array();
  for (const FrontierFamily& family : study.families) {
    for (const FrontierPoint& point : family.points) {
      csv += fmt::format("{},{},{},{}\n", family.name, point.kappa_max, point.kappa, point.error);
    }
    nlohmann::ordered_json json = {
        {"family", family.name}, {"points", family.points.size()}, {"smallest_kappa", family.smallest_kappa},
        {"slope", nullptr},      {"slope_error", nullptr},         {"theory", study.theory}};
    if (family.fit) {
      json["slope"] = family.fit->slope;
      json["slope_error"] = family.slope_error;
    }
    families.push_back(std::move(json));
  }
  write_file_atomically(folder / "frontier.csv", csv);
  const nlohmann::ordered_json summary = {
      {"study", "frontier"},
      {"workers", study.options.shape.workers},
      {"chunks", study.options.shape.chunks},
      {"own_block", study.options.own_block == OwnBlock::included ? "included" : "exact"},
      {"seeds", study.options.seeds},
      {"families", families},
      {"monotone", study.monotone},
      {"feasible", study.feasible},
      {"verdict", study.holds ? "holds" : "contradicted"}};
  write_file_atomically(folder / "summary.json", summary.dump(2) + "\n");
  plot_frontier(study, folder / "frontier.png");
}

}  // namespace cerar
