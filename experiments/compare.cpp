#include "experiments/compare.h"

#include "experiments/text_table.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace cerar {
namespace {

constexpr const char* nothing = "-";
constexpr std::size_t final_reports = 10;
constexpr std::int64_t most_replicas_listed = 16;

std::string percent(std::optional<double> share) {
  if (!share) {
    return nothing;
  }
  return *share == 0 || *share >= 1e-3 ? fmt::format("{:.3f} %", 100 * *share) : fmt::format("{:#.3g} %", 100 * *share);
}

std::string short_name(const TrainHeader& header) {
  return header.code ? fmt::format("{} {},{}", header.reduce, header.workers, header.code->chunks) : header.reduce;
}

/// Of what was measured, ascending.
std::vector<double> sorted_values(const TrainRun& run, std::optional<double> TrainStep::*field) {
  std::vector<double> values;
  for (const TrainStep& step : run.steps) {
    if (step.*field) {
      values.push_back(*(step.*field));
    }
  }
  std::sort(values.begin(), values.end());
  return values;
}

std::string final_loss(const TrainRun& run) {
  if (run.steps.empty()) {
    return nothing;
  }
  const std::size_t count = std::min(final_reports, run.steps.size());
  const double sum = std::accumulate(run.steps.end() - static_cast<std::ptrdiff_t>(count), run.steps.end(), 0.0,
                                     [](double so_far, const TrainStep& step) { return so_far + step.loss; });
  return fmt::format("{:.4f}", sum / static_cast<double>(count));
}

std::string steps_done(const TrainRun& run) {
  const std::int64_t done = run.summary ? run.summary->steps : run.steps.empty() ? 0 : run.steps.back().step;
  if (!run.summary) {
    return fmt::format("{} of {} (broke off)", done, run.header.steps);
  }
  return run.summary->interrupted ? fmt::format("{} of {} (interrupted)", done, run.header.steps)
                                  : fmt::format("{}", done);
}

/// Adds a row whose cells are what `cell` says of each run.
void add_row(TextTable& table, const std::vector<NamedRun>& runs, const std::string& title,
             const std::function<std::string(const TrainRun&)>& cell) {
  std::vector<std::string> cells{title};
  for (const NamedRun& named : runs) {
    cells.push_back(cell(named.run));
  }
  table.add_row(std::move(cells));
}

void add_accuracy(TextTable& table, const std::vector<NamedRun>& runs) {
  add_row(table, runs, "test accuracy, mean of replicas", [](const TrainRun& run) -> std::string {
    if (!run.summary || run.summary->test_accuracy.empty()) {
      return nothing;
    }
    const auto& shares = run.summary->test_accuracy;
    const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
    return fmt::format("{:.2f} %", 100 * mean);
  });
  std::int64_t replicas = 0;
  for (const NamedRun& named : runs) {
    replicas = std::max(replicas, named.run.header.workers);
  }
  for (std::int64_t replica = 0; replica < std::min(replicas, most_replicas_listed); ++replica) {
    add_row(table, runs, fmt::format("  replica {}", replica), [replica](const TrainRun& run) -> std::string {
      const auto index = static_cast<std::size_t>(replica);
      return run.summary && index < run.summary->test_accuracy.size()
                 ? fmt::format("{:.2f} %", 100 * run.summary->test_accuracy[index])
                 : nothing;
    });
  }
}

void add_errors(TextTable& table, const std::vector<NamedRun>& runs) {
  const auto quantile = [](const TrainRun& run, std::optional<double> TrainStep::*field, double share) {
    const std::vector<double> values = sorted_values(run, field);
    if (values.empty()) {
      return std::string(nothing);
    }
    return percent(values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))]);
  };
  const std::vector<std::pair<const char*, double>> rows{
      {"gradient error, smallest", 0.0}, {"  median", 0.5}, {"  largest", 1.0}};
  for (const auto& [title, share] : rows) {
    add_row(table, runs, title,
            [&, share = share](const TrainRun& run) { return quantile(run, &TrainStep::gradient_error, share); });
  }
  add_row(table, runs, "  largest in any one layer",
          [&](const TrainRun& run) { return quantile(run, &TrainStep::gradient_error_worst_layer, 1.0); });
  add_row(table, runs, "  predicted by the code file", [](const TrainRun& run) -> std::string {
    return run.header.code ? percent(run.header.code->predicted_relative_error) : nothing;
  });
  add_row(table, runs, "replica drift, last report", [](const TrainRun& run) {
    const auto last = std::find_if(run.steps.rbegin(), run.steps.rend(),
                                   [](const TrainStep& step) { return step.replica_divergence.has_value(); });
    return last == run.steps.rend() ? nothing : fmt::format("{:.2g}", *last->replica_divergence);
  });
}

void add_costs(TextTable& table, const std::vector<NamedRun>& runs) {
  add_row(table, runs, "bytes sent per step and worker",
          [](const TrainRun& run) { return fmt::format("{:.0f}", wire_bytes_per_step(run)); });
  const double first = wire_bytes_per_step(runs.front().run);
  add_row(table, runs, fmt::format("  times {}", runs.front().name), [first](const TrainRun& run) {
    return first > 0 ? fmt::format("{:.3f}", wire_bytes_per_step(run) / first) : nothing;
  });
  add_row(table, runs, "seconds of training",
          [](const TrainRun& run) { return run.summary ? fmt::format("{:.1f}", run.summary->seconds) : nothing; });
  add_row(table, runs, "  in all-reduces", [](const TrainRun& run) {
    return run.summary ? fmt::format("{:.1f}", run.summary->communication_seconds) : nothing;
  });
}

/// One line for each setting that should be the same for a fair comparison and is not.
std::string differences(const std::vector<NamedRun>& runs) {
  const std::vector<std::pair<const char*, std::function<std::string(const TrainHeader&)>>> settings{
      {"workers", [](const TrainHeader& header) { return std::to_string(header.workers); }},
      {"batch", [](const TrainHeader& header) { return std::to_string(header.batch); }},
      {"steps", [](const TrainHeader& header) { return std::to_string(header.steps); }},
      {"optimizer", [](const TrainHeader& header) { return header.optimizer; }},
      {"learning rate", [](const TrainHeader& header) { return fmt::format("{}", header.learning_rate); }},
      {"seed", [](const TrainHeader& header) { return std::to_string(header.seed); }},
      {"parameters", [](const TrainHeader& header) { return std::to_string(header.parameters); }},
      {"training images", [](const TrainHeader& header) { return std::to_string(header.training_images); }},
  };
  std::string notes;
  for (const auto& [title, value] : settings) {
    std::vector<std::string> values;
    for (const NamedRun& named : runs) {
      values.push_back(value(named.run.header));
    }
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end()) {
      notes += fmt::format("note: the runs differ in {}: {}\n", title, fmt::join(values, ", "));
    }
  }
  return notes;
}

}  // namespace

std::vector<NamedRun> read_runs(const std::vector<std::string>& files) {
  std::vector<NamedRun> runs;
  std::map<std::string, int> uses;
  for (const std::string& file : files) {
    TrainRun run = read_train_file(file);
    std::string name = short_name(run.header);
    ++uses[name];
    runs.push_back({std::move(name), std::move(run)});
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (uses[runs[i].name] > 1) {
      runs[i].name += fmt::format(" ({})", std::filesystem::path(files[i]).stem().string());
    }
  }
  return runs;
}

double wire_bytes_per_step(const TrainRun& run) {
  if (run.steps.empty()) {
    return 0;
  }
  const double sum = std::accumulate(run.steps.begin(), run.steps.end(), 0.0, [](double so_far, const TrainStep& step) {
    return so_far + static_cast<double>(step.wire_bytes);
  });
  return sum / static_cast<double>(run.steps.size());
}

std::string comparison_table(const std::vector<NamedRun>& runs) {
  TextTable table;
  std::vector<std::string> names{""};
  for (const NamedRun& named : runs) {
    names.push_back(named.name);
  }
  table.add_row(std::move(names));
  table.add_rule();
  add_row(table, runs, "workers x batch",
          [](const TrainRun& run) { return fmt::format("{} x {}", run.header.workers, run.header.batch); });
  add_row(table, runs, "optimizer, learning rate",
          [](const TrainRun& run) { return fmt::format("{} {}", run.header.optimizer, run.header.learning_rate); });
  add_row(table, runs, "steps", steps_done);
  add_row(table, runs, fmt::format("loss, mean of last {} reports", final_reports), final_loss);
  add_accuracy(table, runs);
  add_errors(table, runs);
  add_costs(table, runs);
  return table.text() + differences(runs);
}

std::string step_table(const std::vector<NamedRun>& runs, std::int64_t most_rows) {
  std::set<std::int64_t> all_steps;
  std::vector<std::map<std::int64_t, const TrainStep*>> by_step(runs.size());
  std::vector<std::string> names{""};
  std::vector<std::string> titles{"step"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const TrainStep& step : runs[i].run.steps) {
      all_steps.insert(step.step);
      by_step[i][step.step] = &step;
    }
    names.insert(names.end(), {"| " + runs[i].name, "", ""});
    titles.insert(titles.end(), {"| loss", "gradient error", "bytes"});
  }
  std::vector<std::int64_t> steps(all_steps.begin(), all_steps.end());
  if (const auto count = static_cast<std::int64_t>(steps.size()); most_rows > 1 && count > most_rows) {
    std::vector<std::int64_t> chosen;
    for (std::int64_t row = 0; row < most_rows; ++row) {
      chosen.push_back(steps[static_cast<std::size_t>(row * (count - 1) / (most_rows - 1))]);
    }
    steps = std::move(chosen);
  }
  TextTable table;
  table.add_row(std::move(names));
  table.add_row(std::move(titles));
  table.add_rule();
  for (const std::int64_t number : steps) {
    std::vector<std::string> cells{std::to_string(number)};
    for (const auto& of_run : by_step) {
      const auto found = of_run.find(number);
      if (found == of_run.end()) {
        cells.insert(cells.end(), {fmt::format("| {:>6}", nothing), nothing, nothing});
      } else {
        const TrainStep& step = *found->second;
        cells.insert(cells.end(), {fmt::format("| {:.4f}", step.loss), percent(step.gradient_error),
                                   std::to_string(step.wire_bytes)});
      }
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

}  // namespace cerar
