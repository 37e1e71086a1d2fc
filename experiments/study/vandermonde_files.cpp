#include "coding/atomic_file.h"
#include "experiments/gnuplot.h"
#include "experiments/study/plot_style.h"
#include "experiments/study/vandermonde.h"
#include "experiments/text_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace cerar {
namespace {

/// Which of float32, double and 50 digits decode: 0 none though the code could, 1 to 3 as many of them from the widest
/// on, -1 if the code itself is off by more than kDecoded.
int decoded_by(const VandermondeDecoding& decoding) {
  if (decoding.exact >= kDecoded) {
    return -1;
  }
  int count = 0;
  for (const double error : {decoding.fifty_digits, decoding.float64, decoding.float32}) {
    count += error < kDecoded ? 1 : 0;
  }
  return count;
}

std::string finite_or_empty(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

std::string heading(const VandermondeStudy& study) {
  return fmt::format("Vandermonde, N = {}, c = {}, {} nodes", study.options.shape.workers, study.options.shape.chunks,
                     study.options.nodes.name);
}

void plot_phi(const VandermondeStudy& study, const std::filesystem::path& png) {
  std::string data = "$points << EOD\n";
  for (const VandermondePoint& point : study.points) {
    data += fmt::format("{:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {}\n", point.tau, point.phi, point.leading,
                        std::abs(point.remainder) * point.leading, point.kappa,
                        std::isfinite(point.kappa_double) ? fmt::format("{:.17g}", point.kappa_double) : "NaN");
  }
  const std::string script =
      data + "EOD\n" + log_log_style() +
      fmt::format("set xrange [{:.6g}:{:.6g}]\nset xlabel 'τ'\nset multiplot title {} noenhanced font ',15'\n",
                  study.points.back().tau, study.points.front().tau, gnuplot_quoted(heading(study))) +
      fmt::format(
          "set size 1,0.47\nset origin 0,0.46\nset ylabel 'Φ'\n"
          "plot $points using 1:3 with lines lw 1.4 dt (8,5) lc rgb '#222222' title 'N^3(N-1)/2 τ^2 Σξ^2', \\\n"
          "$points using 1:2 with points pt 7 ps 0.9 lc rgb '{0}' title 'Φ: order {2:.4f}', \\\n"
          "$points using 1:4 with linespoints pt 5 ps 0.7 lc rgb '{1}' title 'what is left: order {3:.4f}'\n",
          plot_colours[0], plot_colours[1], study.phi.slope, study.remainder.slope) +
      fmt::format(
          "set size 1,0.46\nset origin 0,0\nset ylabel 'κ_2 of a window'\n"
          "plot $points using 1:5 with linespoints pt 7 ps 0.8 lw 1.5 lc rgb '{0}' title '{2} digits: slope "
          "{3:.4f}', \\\n"
          "$points using 1:6 with linespoints pt 5 ps 0.7 lw 1.5 lc rgb '{1}' title 'double'\nunset multiplot\n",
          plot_colours[0], plot_colours[1], study.digits, study.kappa.slope);
  draw_with_gnuplot(script, png, 1150, 900);
}

/// A coloured field for every tau and c.
void plot_map(const VandermondeStudy& study, const std::filesystem::path& png) {
  const auto& tau = study.options.tau;
  const double step = tau.size() < 2 ? 1 : std::log10(tau.front() / tau.back()) / static_cast<double>(tau.size() - 1);
  struct Kind {
    int count;
    const char* colour;
    const char* title;
  };
  std::string data;
  std::string plots;
  for (const Kind& kind : {Kind{3, "#009E73", "all three decode"},
                           {2, "#56B4E9", "double and 50 digits decode"},
                           {1, "#E69F00", "only 50 digits decode"},
                           {0, "#D55E00", "none of the three decodes"},
                           {-1, "#bbbbbb", "the code itself is over 10 % off"}}) {
    std::string block;
    for (const VandermondeDecoding& decoding : study.map) {
      if (decoded_by(decoding) == kind.count) {
        block += fmt::format("{:.8g} {}\n", std::log10(decoding.tau), decoding.chunks);
      }
    }
    const std::string name = fmt::format("kind{}", kind.count + 1);
    data += fmt::format("${} << EOD\n{}EOD\n", name, block.empty() ? "NaN NaN\n" : block);
    plots += fmt::format(
        "{}${} using ($1-{:.8g}):2:($1-{:.8g}):($1+{:.8g}):($2-0.5):($2+0.5) with boxxyerror fs solid "
        "0.85 border lc rgb '#ffffff' fc rgb '{}' title '{}'",
        plots.empty() ? "" : ", \\\n", name, 0.0, step / 2, step / 2, kind.colour, kind.title);
  }
  const std::string script =
      data + log_log_style() +
      fmt::format(
          "unset logscale\nset format x '10^{{%g}}'\nset format y '%g'\nset xlabel 'τ'\nset ylabel 'chunks c'\n"
          "set xrange [{:.6g}:{:.6g}]\nset yrange [{}:{}]\nset ytics 1\nunset grid\nset title {}\nplot {}\n",
          std::log10(tau.back()) - step / 2, std::log10(tau.front()) + step / 2,
          static_cast<double>(study.map.front().chunks) - 0.5, static_cast<double>(study.map.back().chunks) + 0.5,
          gnuplot_quoted(fmt::format("Who decodes to 10 %: {}", heading(study))), plots);
  draw_with_gnuplot(script, png, 1150, 560);
}

}  // namespace

std::string vandermonde_table(const VandermondeStudy& study) {
  TextTable table;
  table.add_row({"tau", "Phi", "leading term", "Phi / leading - 1", "kappa_2", "kappa_2, double"});
  table.add_rule();
  for (const VandermondePoint& point : study.points) {
    table.add_row({fmt::format("{:.3e}", point.tau), fmt::format("{:.8e}", point.phi),
                   fmt::format("{:.8e}", point.leading), fmt::format("{:+.6e}", point.remainder),
                   fmt::format("{:.4e}", point.kappa), fmt::format("{:.4e}", point.kappa_double)});
  }
  TextTable facts;
  facts.add_row({"order of Phi", fmt::format("{:.6f} +- {:.1e}", study.phi.slope, study.phi.slope_error), "theory 2"});
  facts.add_row({"order of Phi - leading",
                 fmt::format("{:.6f} +- {:.1e}", study.remainder.slope, study.remainder.slope_error),
                 fmt::format("theory {}", study.expected_order)});
  const int power = study.expected_order - 2;
  facts.add_row({fmt::format("(Phi / leading - 1) / tau^{}", power),
                 fmt::format("{:.8g}", study.points.back().remainder / std::pow(study.points.back().tau, power)),
                 fmt::format("theory {:.8g}", study.remainder_constant)});
  facts.add_row({"slope of kappa_2", fmt::format("{:.6f} +- {:.1e}", study.kappa.slope, study.kappa.slope_error),
                 fmt::format("theory {}", 1 - study.options.shape.chunks)});
  TextTable map;
  map.add_row({"c", "the code itself", "50 digits", "double", "float32"});
  map.add_rule();
  for (std::size_t i = 0; i < study.map.size(); i += study.options.tau.size()) {
    int counts[4] = {};
    for (std::size_t j = i; j < i + study.options.tau.size(); ++j) {
      const VandermondeDecoding& one = study.map[j];
      const double errors[4] = {one.exact, one.fifty_digits, one.float64, one.float32};
      for (int k = 0; k < 4; ++k) {
        counts[k] += errors[k] < kDecoded ? 1 : 0;
      }
    }
    map.add_row({std::to_string(study.map[i].chunks), std::to_string(counts[0]), std::to_string(counts[1]),
                 std::to_string(counts[2]), std::to_string(counts[3])});
  }
  return fmt::format(
      "{}\n{}\nvalues of tau, of {}, at which the error is below 10 %:\n{}\n{} digits, confirmed at {}\nverdict: {}\n",
      table.text(), facts.text(), study.options.tau.size(), map.text(), study.digits, 2 * study.digits,
      study.holds ? "holds" : "contradicted");
}

void write_vandermonde(const VandermondeStudy& study, const std::filesystem::path& folder) {
  std::string phi = "tau,phi,leading,remainder,kappa,kappa_double\n";
  for (const VandermondePoint& point : study.points) {
    phi += fmt::format("{},{},{},{},{},{}\n", point.tau, point.phi, point.leading, point.remainder, point.kappa,
                       finite_or_empty(point.kappa_double));
  }
  write_file_atomically(folder / "phi.csv", phi);
  std::string map = "chunks,tau,error_exact,error_50_digits,error_double,error_float32\n";
  for (const VandermondeDecoding& one : study.map) {
    map += fmt::format("{},{},{},{},{},{}\n", one.chunks, one.tau, one.exact, finite_or_empty(one.fifty_digits),
                       finite_or_empty(one.float64), finite_or_empty(one.float32));
  }
  write_file_atomically(folder / "map.csv", map);
  const int power = study.expected_order - 2;
  const nlohmann::ordered_json summary = {
      {"study", "vandermonde"},
      {"workers", study.options.shape.workers},
      {"chunks", study.options.shape.chunks},
      {"nodes", study.options.nodes.name},
      {"digits", study.digits},
      {"phi_order", study.phi.slope},
      {"phi_over_leading", 1 + study.points.back().remainder},
      {"remainder_order", study.remainder.slope},
      {"remainder_order_theory", study.expected_order},
      {"remainder_constant", study.points.back().remainder / std::pow(study.points.back().tau, power)},
      {"remainder_constant_theory", study.remainder_constant},
      {"kappa_slope", study.kappa.slope},
      {"verdict", study.holds ? "holds" : "contradicted"}};
  write_file_atomically(folder / "summary.json", summary.dump(2) + "\n");
  plot_phi(study, folder / "phi.png");
  plot_map(study, folder / "map.png");
}

}  // namespace cerar
