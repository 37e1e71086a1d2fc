#include "experiments/study/conditioning_plot.h"

#include "experiments/gnuplot.h"
#include "experiments/study/plot_style.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace cerar {
namespace {

std::string heading(const ConditioningStudy& study) {
  const auto& source = study.options.source;
  const std::string seed = source.seeded ? fmt::format(", seed {}", study.seeds.front().seed) : "";
  return fmt::format("{}, N = {}, c = {}{}", source.name, source.shape.workers, source.shape.chunks, seed);
}

/// A block of eps and the given columns, one line an eps.
template <class Columns>
std::string data_block(const std::string& name, const SeedConditioning& seed, const Columns& columns) {
  std::string block = fmt::format("${} << EOD\n", name);
  for (std::size_t e = 0; e < seed.eps.size(); ++e) {
    block += fmt::format("{:.17g}", seed.eps[e]);
    for (const double value : columns(e)) {
      block += std::isfinite(value) ? fmt::format(" {:.17g}", value) : " NaN";
    }
    block += "\n";
  }
  return block + "EOD\n";
}

struct Range {
  double low = INFINITY;
  double high = 0;
};

/// Of eq. 21, over all windows.
Range bounds(const SeedConditioning& seed, std::size_t e, std::int64_t power) {
  Range range;
  for (const ConditioningPoint& point : seed.points[e]) {
    const double level = std::pow(seed.eps[e], static_cast<double>(power));
    range.low = std::min(range.low, level * point.core_gamma / seed.limit.difference_norm);
    range.high = std::max(range.high, level * point.core_norm * seed.limit.inverse_norm);
  }
  return range;
}

/// Least and largest level constant (eq. 22), over all windows.
Range constants(const SeedConditioning& seed, std::int64_t power) {
  Range range;
  for (const auto& of_window : seed.limit.constants) {
    for (std::size_t k = 0; k < of_window.size(); ++k) {
      if (seed.limit.powers[k] == power) {
        range.low = std::min(range.low, of_window[k]);
        range.high = std::max(range.high, of_window[k]);
      }
    }
  }
  return range;
}

}  // namespace

void plot_singular_values(const ConditioningStudy& study, const std::filesystem::path& png) {
  const SeedConditioning& seed = study.seeds.front();
  const std::int64_t highest = seed.limit.powers.back();
  std::string data;
  std::string bands;
  std::string points;
  std::string lines;
  for (std::int64_t power = 0; power <= highest; ++power) {
    const char* colour = plot_colours[static_cast<std::size_t>(power) % plot_colours.size()];
    data += data_block(fmt::format("bounds{}", power), seed, [&](std::size_t e) {
      const Range range = bounds(seed, e, power);
      return std::vector<double>{range.low, range.high};
    });
    data += data_block(fmt::format("values{}", power), seed, [&](std::size_t e) {
      std::vector<double> values;
      for (const ConditioningPoint& point : seed.points[e]) {
        for (std::size_t k = 0; k < point.values.size(); ++k) {
          if (seed.limit.powers[k] == power) {
            values.push_back(point.values[k]);
          }
        }
      }
      return values;
    });
    bands += fmt::format(
        "$bounds{0} using 1:2:3 with filledcurves fs transparent solid 0.13 noborder lc rgb '{1}' title "
        "'bounds at ε^{{{0}}}', \\\n",
        power, colour);
    const auto columns =
        static_cast<std::int64_t>(std::count(seed.limit.powers.begin(), seed.limit.powers.end(), power) *
                                  static_cast<std::ptrdiff_t>(seed.points.front().size()));
    points += fmt::format(
        "for [column=2:{0}] $values{1} using 1:column with points pt 7 ps 0.45 lc rgb '{2}' notitle, "
        "\\\nNaN with points pt 7 ps 0.8 lc rgb '{2}' title '{3} singular values a window', \\\n",
        columns + 1, power, colour, seed.counts[static_cast<std::size_t>(power)]);
    const Range range = constants(seed, power);
    for (const double constant : {range.low, range.high}) {
      lines += fmt::format(
          "{:.8g}*x**{} with lines lw 1.4 dt (8,5) lc rgb '#222222' {}, \\\n", constant, power,
          power == 0 && constant == range.low ? "title 'theory: least, largest constant times ε^{k}'" : "notitle");
    }
  }
  const std::string script =
      data + log_log_style() +
      fmt::format(
          "set title {}\nset xlabel 'ε'\nset ylabel 'singular values of A_l(ε), every window l'\n"
          "set xrange [{:.6g}:{:.6g}]\nset samples 300\n",
          gnuplot_quoted("Singular values split into powers of ε: " + heading(study)), seed.eps.back(),
          seed.eps.front()) +
      "plot " + bands + points + lines + "NaN notitle\n";
  draw_with_gnuplot(script, png, 1150, 720);
}

void plot_kappa(const ConditioningStudy& study, const std::filesystem::path& png) {
  const SeedConditioning& seed = study.seeds.front();
  const auto exponent = static_cast<double>(seed.limit.powers.back());
  const auto workers = static_cast<double>(seed.limit.gamma.size());
  const std::string data = data_block("kappa", seed, [&](std::size_t e) {
    std::vector<double> row(5, 0.0);
    for (const ConditioningPoint& point : seed.points[e]) {
      row[0] = std::max(row[0], point.kappa());
      row[1] = std::max(row[1], point.kappa_long_double);
      row[2] = std::max(row[2], point.kappa_double);
      row[3] = std::max(row[3], point.stacked_kappa());
    }
    row[4] = seed.stacked_bound * std::sqrt(workers) * std::pow(seed.eps[e], -exponent);
    return row;
  });
  const std::string script =
      data + log_log_style() +
      fmt::format(
          "set title {}\nset xlabel 'ε'\nset ylabel 'condition number, largest of all windows'\n"
          "set xrange [{:.6g}:{:.6g}]\n",
          gnuplot_quoted("Where double precision stops telling the truth: " + heading(study)), seed.eps.back(),
          seed.eps.front()) +
      fmt::format(
          "plot $kappa using 1:6 with lines lw 1.4 dt (8,5) lc rgb '#555555' title 'bound C √N ε^{{-{0}}}, C = "
          "{1:.3g}', \\\n"
          "$kappa using 1:5 with linespoints pt 6 ps 1.5 lw 1.2 lc rgb '{2}' title 'κ_2(M_i), {7} digits', \\\n"
          "$kappa using 1:2 with linespoints pt 7 ps 0.7 lw 2 lc rgb '{3}' title 'κ_2(A_l), {7} digits: slope "
          "{4:.4f}', \\\n"
          "$kappa using 1:3 with linespoints pt 9 ps 0.9 lw 1.5 lc rgb '{5}' title 'κ_2(A_l), long double', \\\n"
          "$kappa using 1:4 with linespoints pt 5 ps 0.7 lw 1.5 lc rgb '{6}' title 'κ_2(A_l), double'\n",
          seed.limit.powers.back(), seed.stacked_bound, plot_colours[5], plot_colours[0], seed.kappa.slope,
          plot_colours[2], plot_colours[1], seed.digits);
  draw_with_gnuplot(script, png, 1150, 640);
}

}  // namespace cerar
