#include "experiments/study/rates.h"

#include "coding/code_file.h"
#include "coding/piggyback.h"
#include "coding/wire.h"
#include "experiments/study/run_points.h"
#include "experiments/study/study_folder.h"
#include "optimize/family.h"
#include "optimize/fit.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <system_error>

namespace cerar {
namespace {

constexpr double kMostExcess = 0.2;  // of the simulated error over the predicted one

constexpr std::int64_t kMostCodes = 1000;

/// The options with their defaults, checked.
RatesOptions completed(RatesOptions options) {
  (void)find_wire(options.wire);
  if (options.workers < 2) {
    throw std::invalid_argument(
        fmt::format("workers is {}; at least 2 are needed for there to be anything to send", options.workers));
  }
  if (options.most_chunks == 0) {
    validate(RingShape{options.workers, options.workers});
    options.most_chunks = 4 * options.workers;
  }
  if (options.most_chunks <= options.workers) {
    throw std::invalid_argument(fmt::format(
        "--chunks-to is {}; it must be above the number of workers, {}, where the ring is exact and sends most",
        options.most_chunks, options.workers));
  }
  validate(RingShape{options.workers, options.most_chunks});
  if (options.most_chunks - options.workers > kMostCodes) {
    throw std::invalid_argument(
        fmt::format("--chunks-to is {}: that would be {} codes; at most {} are fitted in one study",
                    options.most_chunks, options.most_chunks - options.workers, kMostCodes));
  }
  auto names = construction_names();
  std::erase(names, "ring");
  if (std::find(names.begin(), names.end(), options.construction) == names.end()) {
    throw std::invalid_argument(fmt::format("construction \"{}\" has no codes for every c; the known ones are {}",
                                            options.construction, fmt::join(names, ", ")));
  }
  return options;
}

std::filesystem::path code_path(const StudyFolder& folder, const RingShape& shape) {
  return folder / fmt::format("codes/c_{}.json", shape.chunks);
}

/// Fits one code and writes it; nothing if it was stopped.
std::optional<RatePoint> fitted(const RatesOptions& options, const RingShape& shape, const StudyFolder& folder,
                                const StudyHooks& hooks) {
  FitProblem problem;
  problem.shape = shape;
  problem.construction = options.construction;
  problem.wire = options.wire;
  FitOptions how;
  const auto stopped = [&] { return hooks.stop && hooks.stop(); };
  how.progress = [&](const FitProgress&) { return !stopped(); };
  FitResult result;
  try {
    result = fit(problem, how);
  } catch (const std::runtime_error&) {
    if (stopped()) {
      return std::nullopt;  // before there was any code
    }
    throw;
  }
  if (result.interrupted) {
    return std::nullopt;
  }
  std::filesystem::create_directories(code_path(folder, shape).parent_path());
  write_code_file(result.code, code_path(folder, shape));
  return RatePoint{shape,
                   result.code.predicted_relative_error,
                   result.code.simulated_relative_error.value_or(result.code.predicted_relative_error),
                   result.kappa_max,
                   result.seconds,
                   false};
}

std::optional<RatePoint> compute_or_read(const RatesOptions& options, const RingShape& shape, const StudyFolder& folder,
                                         const StudyHooks& hooks) {
  const std::string name = fmt::format("c_{}", shape.chunks);
  const auto kept = folder.read_point(name);
  if (kept && std::filesystem::exists(code_path(folder, shape))) {
    return RatePoint{shape,
                     kept->at("predicted").get<double>(),
                     kept->at("simulated").get<double>(),
                     kept->at("kappa").get<double>(),
                     kept->at("seconds").get<double>(),
                     false};
  }
  const auto point = fitted(options, shape, folder, hooks);
  if (point) {
    folder.write_point(name, {{"predicted", point->predicted},
                              {"simulated", point->simulated},
                              {"kappa", point->kappa},
                              {"seconds", point->seconds}});
  }
  return point;
}

/// The rate falls with c, so a code is worth taking if none with more chunks has as small an error.
void mark_worth(std::vector<RatePoint>& points) {
  double least = std::numeric_limits<double>::infinity();
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    point->worth = point->simulated < least;
    least = std::min(least, point->simulated);
  }
}

std::vector<PiggybackRate> piggyback_law(const RatesOptions& options) {
  std::vector<PiggybackRate> law;
  for (std::int64_t chunks = 2 * options.workers; options.wire == "f32" && chunks <= options.most_chunks;
       chunks += options.workers) {
    const RingShape shape{options.workers, chunks};
    const NoiseModel noise{.wire = options.wire, .eta = wire_eta(options.wire, options.workers)};
    const PiggybackCode code = make_piggyback_code(shape, noise);
    if (!code.is_exact()) {
      law.push_back({shape, code.predicted_relative_error});
    }
  }
  return law;
}

}  // namespace

std::optional<RatesStudy> study_rates(const RatesOptions& options, const std::filesystem::path& folder,
                                      const StudyHooks& hooks) {
  RatesStudy study{completed(options), {}, {}, true};
  const RatesOptions& chosen = study.options;
  // Not the largest c: a study goes on with more chunks in the same folder.
  const StudyFolder kept(
      folder,
      {{"study", "rates"}, {"workers", chosen.workers}, {"wire", chosen.wire}, {"construction", chosen.construction}});
  study.points.resize(static_cast<std::size_t>(chosen.most_chunks - chosen.workers + 1));
  const std::size_t all = study.points.size();
  const auto point = [&](std::size_t index) {
    // Largest first: it takes longest, and no thread should be left alone with it at the end.
    const std::size_t place = all - 1 - index;
    const auto found =
        compute_or_read(chosen, {chosen.workers, chosen.workers + static_cast<std::int64_t>(place)}, kept, hooks);
    if (found) {
      study.points[place] = *found;
    }
    return found.has_value();
  };
  if (!run_points(all, hooks, point)) {
    return std::nullopt;
  }
  mark_worth(study.points);
  study.piggyback = piggyback_law(chosen);
  study.holds = std::all_of(study.points.begin(), study.points.end(), [](const RatePoint& point) {
    return point.simulated <= point.predicted * (1 + kMostExcess);
  });
  return study;
}

}  // namespace cerar
