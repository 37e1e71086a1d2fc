#include "coding/atomic_file.h"
#include "experiments/gnuplot.h"
#include "experiments/netlab/link_rate.h"
#include "experiments/study/plot_style.h"
#include "experiments/study/ring.h"
#include "experiments/text_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace cerar {
namespace {

std::string rate_text(double rate) {
  return rate == 0 ? "never" : std::isinf(rate) ? "always" : netlab::to_string_of_rate(rate);
}

/// Three digits are all that a break-even is worth.
double rounded(double rate) {
  if (rate == 0 || std::isinf(rate)) {
    return rate;
  }
  const double unit = std::pow(10, std::floor(std::log10(rate)) - 2);
  return std::round(rate / unit) * unit;
}

const char* colour(std::size_t index) { return plot_colours[index % plot_colours.size()]; }

/// Time against workers: a colour a rate, a dash an algorithm.
void plot_time(const RingStudy& study, const std::filesystem::path& png) {
  std::string data;
  std::string plots;
  std::size_t dash = 1;
  for (const char* algorithm : {"exact", "coded", "piggyback"}) {
    for (std::size_t k = 0; k < study.options.rates.size(); ++k) {
      std::string lines;
      for (const RingPoint& point : study.points) {
        if (point.algorithm == algorithm && point.rate == study.options.rates[k]) {
          lines += fmt::format("{} {:.17g}\n", point.workers, point.time.seconds);
        }
      }
      if (lines.empty()) {
        continue;
      }
      data += fmt::format("${}_{} << EOD\n{}EOD\n", algorithm, k, lines);
      plots += fmt::format("{}${}_{} using 1:2 with linespoints pt 7 ps 0.6 lw 1.6 dt {} lc rgb '{}' title '{}, {}'",
                           plots.empty() ? "" : ", \\\n", algorithm, k, dash, colour(k), algorithm,
                           rate_text(study.options.rates[k]));
    }
    ++dash;
  }
  draw_with_gnuplot(data + log_log_style() +
                        fmt::format("set format x '%g'\nset title {}\nset xlabel 'N, workers'\nset ylabel 'seconds'\n"
                                    "plot {}\n",
                                    gnuplot_quoted(fmt::format("Simulated all-reduce of {} MB",
                                                               study.options.bytes / (std::int64_t{1} << 20))),
                                    plots),
                    png, 1150, 640);
}

/// Ratio to the exact ring against the rate: a colour a number of workers, break-even marked.
void plot_ratio(const RingStudy& study, const std::filesystem::path& png) {
  std::string data;
  std::string plots;
  std::size_t dash = 1;
  for (const char* algorithm : {"coded", "piggyback"}) {
    for (std::size_t k = 0; k < study.options.workers.size(); ++k) {
      std::string lines;
      for (const RingPoint& point : study.curve) {
        if (point.algorithm == algorithm && point.workers == study.options.workers[k]) {
          lines += fmt::format("{:.17g} {:.17g}\n", point.rate, point.to_exact);
        }
      }
      if (!lines.empty()) {
        data += fmt::format("${}_{} << EOD\n{}EOD\n", algorithm, k, lines);
        plots += fmt::format("${}_{} using 1:2 with lines lw 1.8 dt {} lc rgb '{}' title '{}, N = {}', \\\n", algorithm,
                             k, dash, colour(k), algorithm, study.options.workers[k]);
      }
    }
    ++dash;
  }
  const auto [least, most] = std::ranges::minmax(study.options.rates);
  std::string marks;
  for (const BreakEven& point : study.break_even) {
    if (point.rate >= least && point.rate <= most) {
      marks += fmt::format("{:.17g} 1\n", point.rate);
    }
  }
  if (!marks.empty()) {
    data += fmt::format("$marks << EOD\n{}EOD\n", marks);
    plots += "$marks using 1:2 with points pt 6 ps 1.6 lw 1.6 lc rgb '#333333' title 'break-even', \\\n";
  }
  draw_with_gnuplot(
      data + log_log_style() +
          fmt::format("unset logscale y\nset format x '%.0s%c'\nset format y '%g'\nset xrange [{:.6g}:{:.6g}]\n"
                      "set yrange [0:2]\nset title {}\nset xlabel 'rate of the links, bit/s'\n"
                      "set ylabel 'time over the exact ring''s'\nplot {}1 with lines lw 1 lc rgb '#999999' notitle\n",
                      least, most,
                      gnuplot_quoted(fmt::format("Simulated all-reduce of {} MB against the exact ring",
                                                 study.options.bytes / (std::int64_t{1} << 20))),
                      plots),
      png, 1150, 640);
}

}  // namespace

std::string ring_table(const RingStudy& study) {
  TextTable table;
  table.add_row({"workers", "link", "algorithm", "chunks", "time ms", "link busy", "thread busy", "to exact"});
  table.add_rule();
  for (const RingPoint& point : study.points) {
    const double seconds = std::max(point.time.seconds, 1e-300);
    table.add_row({fmt::format("{}", point.workers), rate_text(point.rate), point.algorithm,
                   fmt::format("{}", point.chunks), fmt::format("{:.3f}", 1e3 * point.time.seconds),
                   fmt::format("{:.1f} %", 100 * point.time.link_seconds / seconds),
                   fmt::format("{:.1f} %", 100 * point.time.work_seconds / seconds),
                   fmt::format("{:.3f}", point.to_exact)});
  }
  std::string text = table.text();
  if (!study.break_even.empty()) {
    TextTable even;
    even.add_row({"workers", "algorithm", "pays on links below"});
    even.add_rule();
    for (const BreakEven& point : study.break_even) {
      even.add_row({fmt::format("{}", point.workers), point.algorithm, rate_text(rounded(point.rate))});
    }
    text += "\n" + even.text();
  }
  return text;
}

void write_ring(const RingStudy& study, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::string csv = "workers,rate_bits,algorithm,chunks,seconds,link_bytes,link_seconds,work_seconds,to_exact\n";
  for (const RingPoint& point : study.points) {
    csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", point.workers, point.rate, point.algorithm, point.chunks,
                       point.time.seconds, point.time.link_bytes, point.time.link_seconds, point.time.work_seconds,
                       point.to_exact);
  }
  write_file_atomically(folder / "ring.csv", csv);
  std::string even = "workers,algorithm,break_even_bits\n";
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const BreakEven& point : study.break_even) {
    even += fmt::format("{},{},{}\n", point.workers, point.algorithm, point.rate);
    list.push_back(
        {{"workers", point.workers},
         {"algorithm", point.algorithm},
         {"rate_bits", std::isinf(point.rate) ? nlohmann::ordered_json() : nlohmann::ordered_json(point.rate)}});
  }
  write_file_atomically(folder / "break_even.csv", even);
  nlohmann::ordered_json work;
  for (const auto& [algorithm, costs] : study.options.work) {
    work[algorithm] = {{"begin_ns_per_value", 1e9 * costs.begin_per_value},
                       {"round_ns_per_value", 1e9 * costs.round_per_value},
                       {"finish_ns_per_value", 1e9 * costs.finish_per_value},
                       {"round_us_per_message", 1e6 * costs.round_per_message}};
  }
  const nlohmann::ordered_json summary = {{"study", "ring"},
                                          {"bytes", study.options.bytes},
                                          {"latency_seconds", study.options.latency_seconds},
                                          {"mtu", study.options.mtu},
                                          {"slice_chunk_values", study.options.slice_chunk_values},
                                          {"slices_in_flight", study.options.slices_in_flight},
                                          {"work", work},
                                          {"break_even", list}};
  write_file_atomically(folder / "summary.json", summary.dump(2) + "\n");
  if (study.options.workers.size() > 1) {
    plot_time(study, folder / "ring_time.png");
  }
  if (!study.curve.empty() && study.options.rates.size() > 1) {
    plot_ratio(study, folder / "ring_ratio.png");
  }
}

}  // namespace cerar
