#include "experiments/compare_plot.h"

#include "experiments/gnuplot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

namespace cerar {
namespace {

/// Okabe and Ito's colours, which readers with any colour vision tell apart.
constexpr std::array<const char*, 6> colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"};

const char* colour(std::size_t run) { return colours[run % colours.size()]; }

std::string number_or_gap(const std::optional<double>& value, double scale) {
  return value && std::isfinite(*value) ? fmt::format("{:.8g}", *value * scale) : "NaN";
}

/// The run's steps as inline data: step, loss, error in percent, worst layer's in percent.
std::string data_block(std::size_t index, const TrainRun& run) {
  std::string block = fmt::format("$run{} << EOD\n", index);
  for (const TrainStep& step : run.steps) {
    block += fmt::format("{} {} {} {}\n", step.step, number_or_gap(step.loss, 1),
                         number_or_gap(step.gradient_error, 100), number_or_gap(step.gradient_error_worst_layer, 100));
  }
  return block + "EOD\n";
}

std::string plot_command(const std::vector<std::string>& curves) {
  std::string command = "plot ";
  for (const std::string& curve : curves) {
    command += (command == "plot " ? "" : ", \\\n     ") + curve;
  }
  return command + "\n";
}

std::string error_panel(const std::vector<NamedRun>& runs) {
  std::vector<std::string> curves;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string title = gnuplot_quoted(runs[i].name);
    curves.push_back(fmt::format("$run{} using 1:3 with lines lw 2.5 lc rgb '{}' title {}", i, colour(i), title));
    curves.push_back(fmt::format("$run{} using 1:4 with lines lw 1.3 dt (6,4) lc rgb '{}' title {}", i, colour(i),
                                 gnuplot_quoted(runs[i].name + ", worst layer")));
  }
  return "set title 'Gradient error by step: distance from the true sum, relative to it'\n"
         "set size 1.0,0.52\nset origin 0.0,0.42\n"
         "set logscale y\nset yrange [2e-6:10]\n"
         "set ytics ('0.00001 %' 1e-5, '0.0001 %' 1e-4, '0.001 %' 1e-3, '0.01 %' 1e-2, '0.1 %' 0.1, '1 %' 1, '10 %' "
         "10)\n"
         "set object 1 rectangle from graph 0, first 1.6 to graph 1, first 2.9 fillcolor rgb '#bbbbbb' fillstyle solid "
         "0.45 "
         "noborder behind\n"
         "set label 1 'for scale: the error the paper reports, 1.6 to 2.9 %' at graph 0.015, first 0.95 "
         "textcolor rgb '#555555' font ',11'\n"
         "set key at graph 0.985, 0.60 right center vertical maxrows 4 spacing 1.15 samplen 2.5\n" +
         plot_command(curves) + "unset object 1\nunset label 1\nunset logscale y\nset yrange [*:*]\nset ytics auto\n";
}

std::string accuracy_note(const TrainRun& run) {
  if (!run.summary || run.summary->test_accuracy.empty()) {
    return "";
  }
  const auto& shares = run.summary->test_accuracy;
  const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
  return fmt::format(": test accuracy {:.2f} %", 100 * mean);
}

/// The curves of a good code cover each other, so the first is drawn broad and pale and the later ones narrower on top.
std::string loss_panel(const std::vector<NamedRun>& runs) {
  std::vector<std::string> curves;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string style = i == 0 ? fmt::format("lw 6 lc rgb '#88{}'", colour(i) + 1)
                                     : fmt::format("lw {} lc rgb '{}'", i == 1 ? 1.6 : 1.2, colour(i));
    curves.push_back(fmt::format("$run{} using 1:2 with lines {} title {}", i, style,
                                 gnuplot_quoted(runs[i].name + accuracy_note(runs[i].run))));
  }
  return "set title 'Training loss by step: mean over workers of one batch'\n"
         "set size 0.60,0.42\nset origin 0.0,0.0\nset yrange [0:*]\n"
         "set key top right vertical maxrows 6 spacing 1.15 samplen 2.5\n" +
         plot_command(curves);
}

std::string bytes_panel(const std::vector<NamedRun>& runs) {
  const double first = wire_bytes_per_step(runs.front().run);
  std::string block = "$bytes << EOD\n";
  std::vector<std::string> curves;
  double largest = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double bytes = wire_bytes_per_step(runs[i].run);
    largest = std::max(largest, bytes);
    const std::string label = i == 0 || first == 0 ? fmt::format("{:.2f} MB", bytes / 1e6)
                                                   : fmt::format("{:.2f} MB (x {:.2f})", bytes / 1e6, bytes / first);
    block += fmt::format("{} {:.8g} \"{}\" \"{}\"\n", i, bytes / 1e6, runs[i].name, label);
    curves.push_back(
        fmt::format("$bytes using 1:2:xtic(3) every ::{0}::{0} with boxes lc rgb '{1}' fs solid 0.75 noborder notitle",
                    i, colour(i)));
  }
  curves.emplace_back("$bytes using 1:2:4 with labels offset 0,0.9 notitle");
  return block + "EOD\n" +
         fmt::format(
             "set title 'Sent per worker and step'\n"
             "set size 0.40,0.42\nset origin 0.60,0.0\n"
             "unset key\nunset xlabel\nset xtics scale 0\nset grid noxtics\nset boxwidth 0.55\n"
             "set xrange [-0.6:{}]\nset yrange [0:{:.6g}]\nset format y '%g MB'\n",
             static_cast<double>(runs.size()) - 0.4, std::max(largest, 1.0) / 1e6 * 1.2) +
         plot_command(curves);
}

std::string heading(const TrainHeader& header) {
  std::int64_t last_step = header.steps;
  return fmt::format("Fashion-MNIST, {} parameters, {} workers x {} images, {} with rate {}, {} steps",
                     header.parameters, header.workers, header.batch, header.optimizer, header.learning_rate,
                     last_step);
}

}  // namespace

void plot_comparison(const std::vector<NamedRun>& runs, const std::filesystem::path& png) {
  std::string script;
  std::int64_t last_step = 1;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    script += data_block(i, runs[i].run);
    last_step = std::max(last_step, runs[i].run.steps.empty() ? 1 : runs[i].run.steps.back().step);
  }
  script += fmt::format(
      "set encoding utf8\nset datafile missing 'NaN'\n"
      "set multiplot title {} noenhanced font ',15'\n"
      "set termoption noenhanced\n"
      "set border 3 lc rgb '#666666'\nset tics nomirror textcolor rgb '#333333'\n"
      "set grid lc rgb '#dddddd' lw 1\nset title font ',13'\n"
      "set lmargin 10\nset rmargin 3\n"
      "set xlabel 'step'\nset xrange [0:{}]\n",
      gnuplot_quoted(heading(runs.front().run.header)), last_step);
  script += error_panel(runs) + loss_panel(runs) + bytes_panel(runs) + "unset multiplot\n";
  draw_with_gnuplot(script, png, 1300, 950);
}

}  // namespace cerar
