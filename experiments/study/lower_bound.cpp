#include "experiments/study/lower_bound.h"

#include "coding/atomic_file.h"
#include "coding/lower_bound.h"
#include "experiments/gnuplot.h"
#include "experiments/study/linear_protocol.h"
#include "experiments/study/plot_style.h"
#include "experiments/study/short_protocol.h"
#include "experiments/study/study_folder.h"
#include "experiments/text_table.h"
#include "optimize/fit.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

namespace cerar {
namespace {

constexpr std::int64_t values_per_chunk = 3;
constexpr double indistinguishable = 1e-10;

std::vector<ConfusionRow> confuse_random_protocols(const LowerBoundOptions& options) {
  std::vector<ConfusionRow> rows;
  const std::int64_t dimension = options.shape.chunks * values_per_chunk;
  for (int i = 0; i < options.protocols; ++i) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
    // One round fewer than it takes to receive d values.
    const LinearProtocol protocol =
        random_protocol(options.shape.workers, options.shape.chunks - 1, values_per_chunk, dimension, seed);
    const Confusion confusion = confuse(protocol, seed);
    rows.push_back(
        {seed, protocol.rounds * protocol.values, dimension, confusion.received_difference, confusion.sum_distance});
  }
  return rows;
}

/// Rounds of d / c values that the exact ring takes, 2 (N - 1) d / N values in all.
std::int64_t exact_ring_rounds(const RingShape& shape) {
  return (2 * (shape.workers - 1) * shape.chunks + shape.workers - 1) / shape.workers;
}

std::optional<FloorRow> floor_row(const LowerBoundOptions& options, std::int64_t rounds, const FitResult& fitted,
                                  const StudyHooks& hooks) {
  const RingShape& shape = options.shape;
  FloorRow row{rounds,
               static_cast<double>(rounds) / static_cast<double>(shape.chunks),
               causality_floor(shape.workers, shape.chunks, rounds),
               0,
               "exact ring",
               0};
  if (rounds < shape.rounds()) {
    const auto found = optimise_short_protocol(shape, rounds, options.starts, options.seed, hooks);
    if (!found) {
      return std::nullopt;
    }
    row.error = found->error;
    row.protocol = "optimised shift protocol";
    row.kappa = found->kappa;
  } else if (rounds < exact_ring_rounds(shape)) {
    row.error = fitted.code.predicted_relative_error;
    row.protocol = rounds == shape.rounds() ? "overlapped code, float32"
                                            : fmt::format("the same and {} idle", rounds - shape.rounds());
    row.kappa = fitted.kappa_max;
  }
  return row;
}

void plot_floor(const LowerBoundStudy& study, const std::filesystem::path& png) {
  const RingShape& shape = study.options.shape;
  std::string data = "$rows << EOD\n";
  for (const FloorRow& row : study.floors) {
    data += fmt::format("{} {:.10g} {:.10g}\n", row.rounds, 100 * row.floor, 100 * row.error);
  }
  const std::string script =
      data + "EOD\n" + log_log_style() +
      fmt::format(
          "unset logscale\nset format x '%g'\nset format y '%g'\nset xtics 1\nset xlabel 'rounds L of d/c values'\n"
          "set ylabel 'relative error, %'\nset yrange [0:*]\nset xrange [{}:{}]\nset boxwidth 0.5\nset title {}\n"
          "plot $rows using 1:2 with boxes fs solid 0.35 noborder lc rgb '{}' title 'no linear protocol gets "
          "below', \\\n$rows using 1:3 with points pt 7 ps 1.5 lc rgb '{}' title 'best protocol known here', "
          "\\\n$rows using 1:3:(sprintf($3 >= 1 ? '%.1f %%' : '%.2g %%', $3)) with labels offset 0,1 font ',11' "
          "notitle\n",
          study.floors.front().rounds - 1, study.floors.back().rounds + 1,
          gnuplot_quoted(fmt::format("Fewer than c + N - 2 = {} rounds leave an error: N = {}, c = {}", shape.rounds(),
                                     shape.workers, shape.chunks)),
          plot_colours[0], plot_colours[1]);
  draw_with_gnuplot(script, png, 1150, 560);
}

}  // namespace

std::optional<LowerBoundStudy> study_lower_bound(const LowerBoundOptions& options, const std::filesystem::path& folder,
                                                 const StudyHooks& hooks) {
  validate(options.shape);
  if (options.shape.workers < 2 || options.shape.chunks < 2 || options.protocols < 1 || options.starts < 1) {
    throw std::invalid_argument("the lower bounds need at least 2 workers, 1 protocol and 1 start");
  }
  const StudyFolder kept(folder, {{"study", "lower-bound"},
                                  {"workers", options.shape.workers},
                                  {"chunks", options.shape.chunks},
                                  {"seed", options.seed}});
  LowerBoundStudy study{options, confuse_random_protocols(options), {}, true};
  const FitResult fitted = fit({.shape = options.shape});
  const std::int64_t last = exact_ring_rounds(options.shape);
  for (std::int64_t rounds = std::min(options.shape.chunks, last); rounds <= last; ++rounds) {
    const auto row = floor_row(options, rounds, fitted, hooks);
    if (!row) {
      return std::nullopt;
    }
    study.floors.push_back(*row);
    study.holds = study.holds && row->error >= row->floor;
    if (hooks.report) {
      hooks.report(study.floors.size(), static_cast<std::size_t>(last - std::min(options.shape.chunks, last) + 1));
    }
  }
  for (const ConfusionRow& row : study.confusions) {
    study.holds = study.holds && row.received_difference < indistinguishable;
  }
  return study;
}

std::string lower_bound_table(const LowerBoundStudy& study) {
  TextTable pairs;
  pairs.add_row({"random linear protocol", "values received", "of d", "received differ by", "the sums differ by"});
  pairs.add_rule();
  for (const ConfusionRow& row : study.confusions) {
    pairs.add_row({fmt::format("seed {}", row.seed), std::to_string(row.received), std::to_string(row.dimension),
                   fmt::format("{:.1e}", row.received_difference), fmt::format("{:.1f} %", 100 * row.sum_distance)});
  }
  TextTable floors;
  floors.add_row({"rounds L", "rate", "no linear protocol below", "best known here", "kappa_2(M_i)", "which is"});
  floors.add_rule();
  for (const FloorRow& row : study.floors) {
    floors.add_row({std::to_string(row.rounds), fmt::format("{:.3f}", row.rate),
                    fmt::format("{:.2f} %", 100 * row.floor), fmt::format("{:.4g} %", 100 * row.error),
                    row.kappa > 0 ? fmt::format("{:.3g}", row.kappa) : "", row.protocol});
  }
  return fmt::format("{}\n{}\nverdict: {}\n", pairs.text(), floors.text(), study.holds ? "holds" : "contradicted");
}

void write_lower_bound(const LowerBoundStudy& study, const std::filesystem::path& folder) {
  std::string pairs = "seed,received,dimension,received_difference,sum_distance\n";
  for (const ConfusionRow& row : study.confusions) {
    pairs += fmt::format("{},{},{},{},{}\n", row.seed, row.received, row.dimension, row.received_difference,
                         row.sum_distance);
  }
  std::string floors = "rounds,rate,floor,error,kappa,protocol\n";
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const FloorRow& row : study.floors) {
    floors += fmt::format("{},{},{},{},{},\"{}\"\n", row.rounds, row.rate, row.floor, row.error,
                          row.kappa > 0 ? fmt::format("{}", row.kappa) : "", row.protocol);
    rows.push_back({{"rounds", row.rounds}, {"floor", row.floor}, {"error", row.error}, {"protocol", row.protocol}});
  }
  write_file_atomically(folder / "confusions.csv", pairs);
  write_file_atomically(folder / "floor.csv", floors);
  const nlohmann::ordered_json summary = {{"study", "lower-bound"},
                                          {"workers", study.options.shape.workers},
                                          {"chunks", study.options.shape.chunks},
                                          {"seed", study.options.seed},
                                          {"floors", rows},
                                          {"verdict", study.holds ? "holds" : "contradicted"}};
  write_file_atomically(folder / "summary.json", summary.dump(2) + "\n");
  plot_floor(study, folder / "floor.png");
}

}  // namespace cerar
