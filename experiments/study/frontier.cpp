#include "experiments/study/frontier.h"

#include "coding/conditioning.h"
#include "experiments/study/study_folder.h"
#include "optimize/ansatz.h"
#include "optimize/descent.h"
#include "optimize/family.h"
#include "optimize/parallel.h"
#include "optimize/search.h"

#include <boost/math/distributions/students_t.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace cerar {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFeasible = 1e-3;
constexpr double kSlopeTolerance = 0.06;
constexpr double kAsymptotic = 10;      // times the smallest kappa of a family: nearer to it there is no power law yet
constexpr double kLargestKappa = 1e10;  // beyond, the rounding of double shows in the error
constexpr std::int64_t kMostEntries = 4096;

/// A closed form with one parameter, eps.
struct ClosedForm {
  Family family;
  Objective<double> objective;
  double eps = 0;  ///< at the smallest kappa
  double kappa = 0;
};

double largest_kappa(const Objective<double>& objective, const Matrices<double>& encoders) {
  double largest = 1;
  for (std::int64_t worker = 0; worker < objective.model().judged_workers(); ++worker) {
    largest = std::max(largest, kappa2(objective.received(encoders, worker)));
  }
  return largest;
}

double error_of(const Objective<double>& objective, const Matrices<double>& encoders) {
  return std::sqrt(objective.evaluate(encoders, false, false).error);
}

/// Where the closed form is best conditioned. Towards smaller eps kappa grows and the error falls from there.
void find_smallest_kappa(ClosedForm& form) {
  const auto kappa = [&](const std::vector<double>& point) {
    return largest_kappa(form.objective, form.family.encoders(point));
  };
  const SearchResult found = log_search(kappa, form.family.box, 1e-3, 0);
  form.eps = found.point.front();
  form.kappa = found.value;
}

/// The least error under the bound: nothing if the closed form is worse conditioned everywhere.
std::optional<FrontierPoint> best_of(const ClosedForm& form, double bound) {
  if (form.kappa > bound) {
    return std::nullopt;
  }
  const auto error = [&](const std::vector<double>& point) {
    const Matrices<double> encoders = form.family.encoders(point);
    return largest_kappa(form.objective, encoders) <= bound ? error_of(form.objective, encoders) : kInfinity;
  };
  // kappa grows at least as 1 / eps. So fine a search ends where kappa meets the bound.
  const double lowest = form.eps * form.kappa / bound / 100;
  const int points = 2 + static_cast<int>(2 * std::log(form.eps / lowest));
  const SearchResult found = log_search(error, {{lowest, form.eps, points}}, 1e-5, 0);
  if (found.point.empty()) {
    return std::nullopt;  // the bound is the smallest kappa itself, missed by rounding
  }
  return FrontierPoint{
      bound, largest_kappa(form.objective, form.family.encoders(found.point)), found.value, found.point.front(), {}};
}

class Frontier {
 public:
  Frontier(const FrontierOptions& options, const std::filesystem::path& folder, const StudyHooks& hooks)
      : hooks_(hooks),
        folder_(folder, {{"study", "frontier"},
                         {"workers", options.shape.workers},
                         {"chunks", options.shape.chunks},
                         {"kappa", options.kappa},
                         {"seeds", options.seeds},
                         {"own_block", options.own_block == OwnBlock::included ? "included" : "exact"}}),
        all_(4 * options.kappa.size()) {
    study_.options = options;
    study_.theory = -1 / static_cast<double>(options.shape.conditioning_exponent());
    forms_ = {closed_forms("mpc", options.seeds), closed_forms("mpc-shift", 1), closed_forms("cyclic", 1)};
  }

  std::optional<FrontierStudy> run() {
    if (!find_smallest() || !scan() || !descend_all()) {
      return std::nullopt;
    }
    judge();
    return std::move(study_);
  }

 private:
  [[nodiscard]] std::vector<ClosedForm> closed_forms(const char* construction, int seeds) const {
    const FrontierOptions& options = study_.options;
    const bool included = options.own_block == OwnBlock::included;
    std::vector<ClosedForm> forms;
    for (int seed = 1; seed <= seeds; ++seed) {
      Family family =
          std::move(make_families(construction, options.shape, static_cast<std::uint64_t>(seed), included).front());
      const ErrorModel model{.shape = options.shape,
                             .own_block = options.own_block,
                             .first_kept_round = options.shape.workers - 1,
                             .noise = {.eta = 0},
                             .entry = NoiseEntry::kept,
                             .symmetric = family.symmetric()};
      forms.push_back({std::move(family), Objective<double>(model), 0, 0});
    }
    return forms;
  }

  bool find_smallest() {
    std::vector<std::pair<std::string, ClosedForm*>> forms;
    for (std::size_t k = 0; k < forms_.size(); ++k) {
      for (ClosedForm& form : forms_[k]) {
        forms.emplace_back(fmt::format("smallest_kappa_{}_seed_{}", kNames[k], form.family.seed), &form);
      }
    }
    const bool finished = run_parallel(
        forms.size(), hooks_.threads,
        [&](std::size_t k) {
          auto& [name, form] = forms[k];
          if (const auto kept = folder_.read_point(name)) {
            form->eps = kept->at("eps").get<double>();
            form->kappa = kept->at("kappa").get<double>();
            return;
          }
          find_smallest_kappa(*form);
          folder_.write_point(name, {{"eps", form->eps}, {"kappa", form->kappa}});
        },
        hooks_.stop);
    double smallest = kInfinity;
    for (std::size_t k = 0; finished && k < forms_.size(); ++k) {
      FrontierFamily family{kNames[k], {}, kInfinity};
      for (const ClosedForm& form : forms_[k]) {
        family.smallest_kappa = std::min(family.smallest_kappa, form.kappa);
      }
      smallest = std::min(smallest, family.smallest_kappa);
      study_.families.push_back(std::move(family));
    }
    if (finished && smallest > study_.options.kappa.back()) {
      throw std::invalid_argument(fmt::format(
          "no family has a code of kappa at most {:.3g}; the smallest condition number found for {} "
          "workers and {} chunks is {:.4g}: give larger bounds to --kappa",
          study_.options.kappa.back(), study_.options.shape.workers, study_.options.shape.chunks, smallest));
    }
    return finished;
  }

  bool scan() {
    const std::vector<double>& kappa = study_.options.kappa;
    std::vector<std::optional<FrontierPoint>> points(forms_.size() * kappa.size());
    const bool finished = run_parallel(
        points.size(), hooks_.threads,
        [&](std::size_t index) {
          points[index] = scanned(index / kappa.size(), kappa[index % kappa.size()]);
          report();
        },
        hooks_.stop);
    for (std::size_t index = 0; index < points.size(); ++index) {
      if (points[index]) {
        study_.families[index / kappa.size()].points.push_back(std::move(*points[index]));
      }
    }
    return finished;
  }

  [[nodiscard]] std::optional<FrontierPoint> scanned(std::size_t family, double bound) const {
    if (study_.families[family].smallest_kappa > bound) {
      return std::nullopt;
    }
    if (auto kept = read(kNames[family], bound)) {
      return kept;
    }
    std::optional<FrontierPoint> best;
    for (const ClosedForm& form : forms_[family]) {
      auto point = best_of(form, bound);
      if (point && !(best && best->error <= point->error)) {
        best = std::move(point);
      }
    }
    if (best) {
      write(kNames[family], *best);
    }
    return best;
  }

  /// From the closed form at each bound and from the optimised code of the bound before.
  bool descend_all() {
    const FrontierFamily nodes = study_.families.back();
    study_.families.push_back({"optimised", {}, nodes.smallest_kappa});
    std::vector<FrontierPoint>& points = study_.families.back().points;
    for (std::size_t left_out = nodes.points.size(); left_out < study_.options.kappa.size(); ++left_out) {
      report();
    }
    for (const FrontierPoint& closed : nodes.points) {
      auto point = read("optimised", closed.kappa_max);
      if (!point) {
        point = descended(closed, points.empty() ? nullptr : &points.back());
        if (stopped()) {
          return false;
        }
        write("optimised", *point);
      }
      points.push_back(std::move(*point));
      report();
    }
    return true;
  }

  [[nodiscard]] FrontierPoint descended(const FrontierPoint& closed, const FrontierPoint* before) const {
    const ClosedForm& form = forms_.back().front();
    Matrices<double> starts = {form.family.encoders({closed.eps}).front()};
    if (before != nullptr) {
      starts.push_back(before->encoder);
    }
    std::vector<FrontierPoint> ends(starts.size());
    run_parallel(starts.size(), hooks_.threads, [&](std::size_t k) {
      const auto ansatz = make_turned_ansatz({starts[k]}, form.family.turns);
      const Descent descent = descend(form.objective, *ansatz, ansatz->start(),
                                      {.stacked_kappa = closed.kappa_max, .kicks = 3, .stop = hooks_.stop});
      const Matrices<double> encoders = ansatz->encoders(descent.x);
      ends[k] = {closed.kappa_max, largest_kappa(form.objective, encoders), std::sqrt(descent.error), 0,
                 encoders.front()};
    });
    return *std::min_element(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.error < b.error; });
  }

  [[nodiscard]] static std::string point_name(const std::string& family, double bound) {
    return fmt::format("{}_kappa_{}", family, bound);
  }

  [[nodiscard]] std::optional<FrontierPoint> read(const std::string& family, double bound) const {
    const auto kept = folder_.read_point(point_name(family, bound));
    if (!kept) {
      return std::nullopt;
    }
    const auto entries = kept->at("encoder").get<std::vector<double>>();
    const std::int64_t chunks = study_.options.shape.chunks;
    return FrontierPoint{
        bound, kept->at("kappa").get<double>(), kept->at("error").get<double>(), kept->at("eps").get<double>(),
        Eigen::Map<const Eigen::MatrixXd>(entries.data(), static_cast<Eigen::Index>(entries.size()) / chunks, chunks)};
  }

  void write(const std::string& family, const FrontierPoint& point) const {
    const auto entries = point.encoder.reshaped();
    folder_.write_point(point_name(family, point.kappa_max),
                        {{"kappa", point.kappa},
                         {"error", point.error},
                         {"eps", point.eps},
                         {"encoder", std::vector<double>(entries.begin(), entries.end())}});
  }

  [[nodiscard]] bool stopped() const { return hooks_.stop && hooks_.stop(); }

  void report() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (hooks_.report) {
      hooks_.report(done_, all_);
    }
  }

  /// Slopes, and whether they and the points are as they must be.
  void judge() {
    const std::vector<double>& bounds = study_.options.kappa;
    const double middle = std::sqrt(bounds.front() * bounds.back()) * (1 - 1e-9);
    study_.monotone = study_.feasible = true;
    bool slopes = true;
    bool any_slope = false;
    for (FrontierFamily& family : study_.families) {
      std::vector<double> kappa;
      std::vector<double> error;
      double least = kInfinity;
      for (const FrontierPoint& point : family.points) {
        study_.feasible = study_.feasible && point.kappa <= point.kappa_max * (1 + kFeasible);
        study_.monotone = study_.monotone && point.error <= least;
        least = std::min(least, point.error);
        if (point.kappa_max >= std::max(middle, kAsymptotic * family.smallest_kappa)) {
          kappa.push_back(point.kappa);
          error.push_back(point.error);
        }
      }
      if (kappa.size() >= 3 && kappa.front() < kappa.back()) {
        any_slope = true;
        family.fit = fit_log_log(kappa, error);
        const boost::math::students_t student(static_cast<double>(kappa.size() - 2));
        family.slope_error = boost::math::quantile(student, 0.975) * family.fit->slope_error;
        slopes = slopes && std::abs(family.fit->slope - study_.theory) <= std::max(kSlopeTolerance, family.slope_error);
      }
    }
    study_.holds = study_.monotone && study_.feasible && slopes && any_slope;
  }

  static constexpr std::array<const char*, 3> kNames{"mpc", "mpc-shift", "nodes"};

  const StudyHooks& hooks_;
  StudyFolder folder_;
  FrontierStudy study_;
  std::array<std::vector<ClosedForm>, 3> forms_;
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::size_t all_;
};

void validate(const FrontierOptions& options) {
  const RingShape& shape = options.shape;
  validate(shape);
  if (shape.workers < 3) {
    throw std::invalid_argument(fmt::format(
        "workers is {}; with fewer than 3 the sum is exact at every c, and there is no frontier", shape.workers));
  }
  if (shape.chunks == shape.workers) {
    throw std::invalid_argument("chunks = workers is the exact ring, which has no frontier; take more chunks");
  }
  if (shape.chunks > kMostEntries / shape.workers) {
    throw std::invalid_argument(fmt::format("{} workers with {} chunks would take days; workers * chunks may be {}",
                                            shape.workers, shape.chunks, kMostEntries));
  }
  const std::vector<double>& kappa = options.kappa;
  if (kappa.size() < 3) {
    throw std::invalid_argument(
        "at least 3 bounds of kappa are needed to fit a slope; give a wider --kappa or more --points");
  }
  if (!(kappa.front() >= 1) || !(kappa.back() <= kLargestKappa) ||
      std::adjacent_find(kappa.begin(), kappa.end(), std::greater_equal<>()) != kappa.end()) {
    throw std::invalid_argument(
        fmt::format("--kappa: bounds must lie between 1 and {:.0e}, smallest first: a condition number is at least 1, "
                    "and beyond that double rounds visibly",
                    kLargestKappa));
  }
  if (options.seeds < 1) {
    throw std::invalid_argument(fmt::format("seeds is {}; at least 1 is needed", options.seeds));
  }
}

}  // namespace

std::optional<FrontierStudy> study_frontier(const FrontierOptions& options, const std::filesystem::path& folder,
                                            const StudyHooks& hooks) {
  validate(options);
  return Frontier(options, folder, hooks).run();
}

}  // namespace cerar
