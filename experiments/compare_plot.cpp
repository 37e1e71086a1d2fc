#include "experiments/compare_plot.h"

#include "coding/error.h"
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
    curves.push_back(fmt::format("$run{} using 1:3 with lines lw 2.5 lc rgb '{}' title {}", i, colour(i),
                                 gnuplot_quoted(runs[i].name)));
    curves.push_back(fmt::format("$run{} using 1:4 with lines lw 1.3 dt (6,4) lc rgb '{}' notitle", i, colour(i)));
  }
  curves.emplace_back("NaN with lines lw 1.3 dt (6,4) lc rgb '#666666' title 'same colour, dashed: its worst layer'");
  return "set title 'Gradient error by step: distance from the true sum of the gradients, relative to its norm'\n"
         "set size 1.0,0.53\nset origin 0.0,0.42\n"
         "set logscale y\nset yrange [2e-6:10]\n"
         "set ytics ('0.00001 %%' 1e-5, '0.0001 %%' 1e-4, '0.001 %%' 1e-3, '0.01 %%' 1e-2, '0.1 %%' 0.1, '1 %%' 1, "
         "'10 %%' 10)\n"
         "set object 1 rectangle from graph 0, first 1.6 to graph 1, first 2.9 fillcolor rgb '#aaaaaa' fillstyle solid "
         "0.5 noborder behind\n"
         "set label 1 'for scale: 1.6 to 2.9 %, the error the paper reports for 4 workers and 12 chunks' at graph "
         "0.01, "
         "first 0.95 textcolor rgb '#555555' font ',11'\n"
         "set key tmargin left horizontal Left reverse samplen 2.5\n" +
         plot_command(curves) + "unset object 1\nunset label 1\n";
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
                                     : fmt::format("lw {} lc rgb '{}'", i == 1 ? 1.8 : 1.2, colour(i));
    curves.push_back(fmt::format("$run{} using 1:2 with lines {} title {}", i, style,
                                 gnuplot_quoted(runs[i].name + accuracy_note(runs[i].run))));
  }
  return "set title 'Training loss by step: mean over the workers of one batch'\n"
         "set size 0.60,0.42\nset origin 0.0,0.0\nset yrange [*:*]\n"
         "set ytics (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)\n"
         "set key inside top right vertical Left reverse spacing 1.2 samplen 2.5\n" +
         plot_command(curves);
}

/// A horizontal bar a run, its name and figures written above it.
std::string bytes_panel(const std::vector<NamedRun>& runs) {
  const double first = wire_bytes_per_step(runs.front().run);
  std::string bars = "$bytes << EOD\n";
  std::string labels;
  std::vector<std::string> curves;
  double largest = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double bytes = wire_bytes_per_step(runs[i].run);
    largest = std::max(largest, bytes);
    bars += fmt::format("{:.8g} {}\n", bytes / 1e6, i);
    const std::string ratio = i == 0 || first == 0 ? "" : fmt::format(", {:.3f} of {}", bytes / first, runs[0].name);
    labels += fmt::format("set label {} {} at first 0, first {} left offset 0.2,0\n", 10 + i,
                          gnuplot_quoted(fmt::format("{}: {:.2f} MB{}", runs[i].name, bytes / 1e6, ratio)),
                          static_cast<double>(i) - 0.36);
    curves.push_back(
        fmt::format("$bytes using (0):2:(0):1:($2-0.16):($2+0.30) every ::{0}::{0} with boxxyerror lc rgb "
                    "'{1}' fs solid 0.8 noborder notitle",
                    i, colour(i)));
  }
  return bars + "EOD\n" + labels +
         fmt::format(
             "set title 'Bytes sent per worker and step'\n"
             "set size 0.40,0.42\nset origin 0.60,0.0\n"
             "unset logscale\nunset key\nset border 1\nset lmargin 2\nset rmargin 6\nunset ytics\nset xlabel 'MB'\n"
             "set xtics auto\nset xrange [0:{:.6g}]\nset yrange [{}:-0.7]\n",
             std::max(largest, 1.0) / 1e6 * 1.08, static_cast<double>(runs.size()) - 0.4) +
         plot_command(curves);
}

std::string heading(const TrainHeader& header) {
  std::string parameters = std::to_string(header.parameters);
  for (auto place = static_cast<std::ptrdiff_t>(parameters.size()) - 3; place > 0; place -= 3) {
    parameters.insert(static_cast<std::size_t>(place), ",");
  }
  return fmt::format("Fashion-MNIST, {} parameters, {} workers x {} images, {} from rate {}, {} steps", parameters,
                     header.workers, header.batch, header.optimizer, header.learning_rate, header.steps);
}

}  // namespace

void plot_comparison(const std::vector<NamedRun>& runs, const std::filesystem::path& png) {
  if (std::all_of(runs.begin(), runs.end(), [](const NamedRun& named) { return named.run.steps.empty(); })) {
    throw Error("there is nothing to draw: the runs hold no steps");
  }
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
      "set lmargin 12\nset rmargin 5\n"
      "set xlabel 'step'\nset xrange [0:{}]\n",
      gnuplot_quoted(heading(runs.front().run.header)), last_step);
  script += error_panel(runs) + loss_panel(runs) + bytes_panel(runs) + "unset multiplot\n";
  draw_with_gnuplot(script, png, 1300, 980);
}

}  // namespace cerar
