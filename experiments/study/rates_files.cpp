#include "coding/atomic_file.h"
#include "experiments/gnuplot.h"
#include "experiments/study/plot_style.h"
#include "experiments/study/rates.h"
#include "experiments/text_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cerar {
namespace {

std::string percent(double error) { return fmt::format("{:.3g} %", 100 * error); }

/// Numbers of chunks for the axis on top: every multiple of N, and those in between that have room.
std::string chunk_tics(const RatesStudy& study) {
  const double room = 0.05 * (study.points.front().shape.rate() - study.points.back().shape.rate());
  const std::int64_t workers = study.options.workers;
  std::string tics;
  double last = std::numeric_limits<double>::infinity();
  for (const RatePoint& point : study.points) {
    const RingShape& shape = point.shape;
    const RingShape next{workers, (shape.chunks / workers + 1) * workers};
    const bool multiple = shape.chunks % workers == 0;
    if (multiple || (last - shape.rate() >= room && shape.rate() - next.rate() >= room)) {
      tics += fmt::format("{}'{}' {:.17g}", tics.empty() ? "" : ", ", shape.chunks, shape.rate());
      last = shape.rate();
    }
  }
  return tics;
}

void plot_rates(const RatesStudy& study, const std::filesystem::path& png) {
  const RatePoint& ring = study.points.front();
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  const auto line = [&](double rate, double predicted, double simulated) {
    least = std::min({least, predicted, simulated});
    most = std::max({most, predicted, simulated});
    return fmt::format("{:.17g} {:.17g} {:.17g}\n", rate, 100 * predicted, 100 * simulated);
  };
  std::string data = "$codes << EOD\n";
  for (const RatePoint& point : study.points) {
    if (point.shape != ring.shape) {
      data += line(point.shape.rate(), point.predicted, point.simulated);
    }
  }
  data += "EOD\n$piggyback << EOD\n";
  for (const PiggybackRate& point : study.piggyback) {
    data += line(point.shape.rate(), point.predicted, point.predicted);
  }
  // The exact ring's error is only its rounding, decades below: it stands on the lower edge, with its value.
  const double low = 100 * least / 1.6;
  const double high = 100 * most * 1.6;
  data += fmt::format("EOD\n$ring << EOD\n{:.17g} {:.17g}\nEOD\n", ring.shape.rate(), low);
  std::string plots = fmt::format(
      "$codes using 1:2 with lines lw 1.6 lc rgb '{0}' title '{1} code, predicted', \\\n"
      "$codes using 1:3 with points pt 7 ps 0.9 lc rgb '{0}' title '{1} code, simulated', \\\n",
      plot_colours[0], study.options.construction);
  if (!study.piggyback.empty()) {
    plots += fmt::format(
        "$piggyback using 1:2 with linespoints pt 5 ps 1.0 lw 1.6 lc rgb '{}' title 'piggyback ring, predicted', \\\n",
        plot_colours[2]);
  }
  plots +=
      fmt::format("$ring using 1:2 with points pt 11 ps 1.8 lc rgb '{}' title 'exact ring, c = N: {:.2g} %, below'",
                  plot_colours[1], 100 * ring.simulated);
  std::string tics;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade < high; decade *= 10) {
    for (const int digit : {1, 2, 5}) {
      tics += fmt::format("{}{:.6g}", tics.empty() ? "" : ", ", digit * decade);
    }
  }
  const std::string script =
      data + log_log_style() +
      fmt::format(
          "set border 7\nunset logscale x\nset format x '%.2f'\nset format y '%g'\nset ytics ({})\nset x2tics ({})\n"
          "set title {}\nset xlabel 'rate L / c: values sent per worker and value of the gradient'\n"
          "set x2label 'c, chunks'\nset ylabel 'relative error of the sum, %'\n"
          "set xrange [{:.6g}:{:.6g}]\nset x2range [{:.6g}:{:.6g}]\nset yrange [{:.6g}:{:.6g}]\nplot {}\n",
          tics, chunk_tics(study),
          gnuplot_quoted(
              fmt::format("What a smaller rate costs: N = {}, wire {}", study.options.workers, study.options.wire)),
          study.points.back().shape.rate() * 0.99, ring.shape.rate() * 1.01, study.points.back().shape.rate() * 0.99,
          ring.shape.rate() * 1.01, low, high, plots);
  draw_with_gnuplot(script, png, 1150, 640);
}

}  // namespace

std::string rates_table(const RatesStudy& study) {
  TextTable table;
  table.add_row({"chunks", "rate", "predicted", "simulated", "kappa", "seconds", ""});
  table.add_rule();
  for (const RatePoint& point : study.points) {
    table.add_row({fmt::format("{}", point.shape.chunks), fmt::format("{:.3f}", point.shape.rate()),
                   percent(point.predicted), percent(point.simulated), fmt::format("{:.2e}", point.kappa),
                   fmt::format("{:.2f}", point.seconds), point.worth ? "*" : ""});
  }
  std::string piggyback;
  for (const PiggybackRate& point : study.piggyback) {
    piggyback += fmt::format("{} c = {}: {}", piggyback.empty() ? "piggyback ring, predicted:" : ",",
                             point.shape.chunks, percent(point.predicted));
  }
  return fmt::format(
      "relative error of the best {} code, N = {}, wire {}\n\n{}\n* no larger c has a smaller error\n{}{}"
      "verdict: {}\n",
      study.options.construction, study.options.workers, study.options.wire, table.text(), piggyback,
      piggyback.empty() ? "" : "\n",
      study.holds ? "holds (simulated as predicted)" : "contradicted (a simulated error is 20 % above the predicted)");
}

void write_rates(const RatesStudy& study, const std::filesystem::path& folder) {
  std::string csv = "workers,chunks,rate,predicted,simulated,kappa,seconds,worth\n";
  for (const RatePoint& point : study.points) {
    csv += fmt::format("{},{},{},{},{},{},{},{:d}\n", point.shape.workers, point.shape.chunks, point.shape.rate(),
                       point.predicted, point.simulated, point.kappa, point.seconds, point.worth);
  }
  write_file_atomically(folder / "rates.csv", csv);
  nlohmann::ordered_json worth = nlohmann::ordered_json::array();
  for (const RatePoint& point : study.points) {
    if (point.worth) {
      worth.push_back({{"chunks", point.shape.chunks},
                       {"rate", point.shape.rate()},
                       {"predicted", point.predicted},
                       {"simulated", point.simulated},
                       {"code", fmt::format("codes/c_{}.json", point.shape.chunks)}});
    }
  }
  nlohmann::ordered_json piggyback = nlohmann::ordered_json::array();
  for (const PiggybackRate& point : study.piggyback) {
    piggyback.push_back({{"chunks", point.shape.chunks}, {"rate", point.shape.rate()}, {"predicted", point.predicted}});
  }
  const nlohmann::ordered_json summary = {{"study", "rates"},
                                          {"workers", study.options.workers},
                                          {"wire", study.options.wire},
                                          {"construction", study.options.construction},
                                          {"most_chunks", study.options.most_chunks},
                                          {"worth", worth},
                                          {"piggyback", piggyback},
                                          {"verdict", study.holds ? "holds" : "contradicted"}};
  write_file_atomically(folder / "summary.json", summary.dump(2) + "\n");
  plot_rates(study, folder / "rates.png");
}

}  // namespace cerar
