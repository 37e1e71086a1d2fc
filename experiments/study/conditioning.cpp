#include "experiments/study/conditioning.h"

#include "coding/error.h"
#include "experiments/study/study_folder.h"
#include "optimize/parallel.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <stdexcept>

namespace cerar {
namespace {

constexpr double slope_tolerance = 0.02;

std::string point_name(const SeedConditioning& seed, double eps) {
  return fmt::format("seed_{}_eps_{}", seed.seed, eps);
}

void validate(const ConditioningOptions& options) {
  if (options.eps.size() < 3) {
    throw std::invalid_argument("at least 3 values of eps are needed to fit a slope; give more --points");
  }
  for (const double eps : options.eps) {
    if (!(eps > 0 && std::isfinite(eps))) {
      throw std::invalid_argument(fmt::format("eps is {}; it must be positive", eps));
    }
  }
  if (options.seeds < 1) {
    throw std::invalid_argument(fmt::format("seeds is {}; at least 1 is needed", options.seeds));
  }
  if (options.seeds > 1 && !options.source.seeded) {
    throw std::invalid_argument(
        fmt::format("{} draws nothing at random, so {} seeds would all be alike; leave out --seeds",
                    options.source.name, options.seeds));
  }
}

/// All that a point depends on, besides its own name and digits.
nlohmann::ordered_json conditioning_run(const ConditioningOptions& options) {
  return {{"study", "conditioning"},
          {"construction", options.source.name},
          {"fingerprint", options.source.fingerprint},
          {"workers", options.source.shape.workers},
          {"chunks", options.source.shape.chunks}};
}

SeedConditioning prepare_seed(const ConditioningOptions& options, std::uint64_t seed) {
  SeedConditioning result;
  result.seed = seed;
  result.eps = options.eps;
  std::sort(result.eps.begin(), result.eps.end(), std::greater<>());
  result.limit = conditioning_limit(options.source, seed);
  if (result.eps.front() * result.limit.direction_norm >= 1) {
    throw std::invalid_argument(fmt::format("eps = {} is not below 1 / ||H|| = {:.4g}{}; start --eps lower",
                                            result.eps.front(), 1 / result.limit.direction_norm,
                                            options.source.seeded ? fmt::format(" of seed {}", seed) : ""));
  }
  const int needed = needed_digits(result.limit, result.eps.back());
  result.digits = options.digits.value_or(needed);
  if (result.digits < needed) {
    throw std::invalid_argument(fmt::format(
        "{} digits are too few for eps = {}: kappa_2 may reach {:.1e}, so {} are needed; give --digits {} or auto",
        result.digits, result.eps.back(),
        result.limit.condition_constant() *
            std::pow(result.eps.back(), -static_cast<double>(result.limit.powers.back())),
        needed, needed));
  }
  result.points.resize(result.eps.size());
  return result;
}

/// Computes the windows that are missing at one eps after another and keeps each eps as soon as it is whole.
class PointRunner {
 public:
  PointRunner(const ConditioningOptions& options, const StudyFolder& folder, const StudyHooks& hooks,
              std::vector<SeedConditioning>& seeds)
      : options_(options), folder_(folder), hooks_(hooks) {
    for (SeedConditioning& seed : seeds) {
      for (std::size_t e = 0; e < seed.eps.size(); ++e) {
        ++all_;
        if (!read(seed, e)) {
          seed.points[e].resize(windows());
          missing_.push_back({&seed, e, windows()});
        }
      }
    }
    done_ = all_ - missing_.size();
  }

  bool run() {
    return run_parallel(
        missing_.size() * windows(), hooks_.threads, [this](std::size_t task) { run_one(task); }, hooks_.stop);
  }

 private:
  struct Missing {
    SeedConditioning* seed;
    std::size_t eps;
    std::size_t windows_left;
  };

  [[nodiscard]] std::size_t windows() const { return static_cast<std::size_t>(options_.source.shape.workers); }

  bool read(SeedConditioning& seed, std::size_t e) const {
    const std::string name = point_name(seed, seed.eps[e]);
    const auto point = folder_.read_point(name);
    if (!point || point->value("digits", 0) != seed.digits) {
      return false;
    }
    try {
      for (const auto& window : point->at("windows")) {
        seed.points[e].push_back(conditioning_point_from(window));
      }
    } catch (const nlohmann::json::exception& error) {
      seed.points[e].clear();
    }
    if (seed.points[e].size() != windows()) {
      throw FileError(fmt::format("{}: is not a whole point of this study; delete it, and it is computed again",
                                  (folder_ / "points" / (name + ".json")).string()));
    }
    return true;
  }

  void run_one(std::size_t task) {
    Missing& missing = missing_[task / windows()];
    const std::size_t l = task % windows();
    SeedConditioning& seed = *missing.seed;
    const double eps = seed.eps[missing.eps];
    ConditioningPoint point =
        conditioning_point(options_.source, seed.seed, eps, static_cast<std::int64_t>(l), seed.digits);
    const std::lock_guard lock(mutex_);
    seed.points[missing.eps][l] = std::move(point);
    if (--missing.windows_left > 0) {
      return;
    }
    nlohmann::ordered_json whole = {
        {"eps", eps}, {"digits", seed.digits}, {"windows", nlohmann::ordered_json::array()}};
    for (const ConditioningPoint& one : seed.points[missing.eps]) {
      whole["windows"].push_back(to_json(one));
    }
    folder_.write_point(point_name(seed, eps), whole);
    ++done_;
    if (hooks_.report) {
      hooks_.report(done_, all_);
    }
  }

  const ConditioningOptions& options_;
  const StudyFolder& folder_;
  const StudyHooks& hooks_;
  std::vector<Missing> missing_;
  std::mutex mutex_;
  std::size_t all_ = 0;
  std::size_t done_ = 0;
};

/// A figure's power law over the smaller half of eps, where the theorem's asymptotics has set in.
template <class Figure>
LogLogFit fit_small_eps(const SeedConditioning& seed, const Figure& figure) {
  const double middle = std::sqrt(seed.eps.front() * seed.eps.back()) * (1 + 1e-9);
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t e = 0; e < seed.eps.size(); ++e) {
    if (seed.eps[e] <= middle || e + 3 >= seed.eps.size()) {
      x.push_back(seed.eps[e]);
      y.push_back(figure(seed.points[e]));
    }
  }
  return fit_log_log(x, y);
}

template <class Figure>
double largest(const std::vector<ConditioningPoint>& windows, const Figure& figure) {
  double result = 0;
  for (const ConditioningPoint& point : windows) {
    result = std::max(result, figure(point));
  }
  return result;
}

void fit_slopes(SeedConditioning& seed) {
  using Windows = std::vector<ConditioningPoint>;
  const auto& first = seed.points.front().front();
  for (std::size_t l = 0; l < seed.points.front().size(); ++l) {
    auto& of_window = seed.window_fits.emplace_back();
    for (std::size_t k = 0; k < first.values.size(); ++k) {
      of_window.push_back(fit_small_eps(seed, [&](const Windows& windows) { return windows[l].values[k]; }));
    }
    auto& of_worker = seed.stacked_fits.emplace_back();
    for (std::size_t k = 0; k < first.stacked.size(); ++k) {
      of_worker.push_back(fit_small_eps(seed, [&](const Windows& windows) { return windows[l].stacked[k]; }));
    }
  }
  seed.kappa = fit_small_eps(
      seed, [](const Windows& windows) { return largest(windows, [](const auto& point) { return point.kappa(); }); });
  seed.stacked_kappa = fit_small_eps(seed, [](const Windows& windows) {
    return largest(windows, [](const auto& point) { return point.stacked_kappa(); });
  });
  const auto change = [](const Windows& windows) {
    return largest(windows, [](const auto& point) { return point.core_change; });
  };
  if (change(seed.points.back()) > 0) {
    seed.core_change = fit_small_eps(seed, change);
  }
}

/// How many slopes lie at 0, 1, .. `highest`.
std::vector<std::int64_t> count_slopes(const std::vector<LogLogFit>& fits, std::int64_t highest) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(highest) + 1, 0);
  for (const LogLogFit& fit : fits) {
    const auto power = std::llround(fit.slope);
    if (power >= 0 && power <= highest && std::abs(fit.slope - static_cast<double>(power)) < slope_tolerance) {
      ++counts[static_cast<std::size_t>(power)];
    }
  }
  return counts;
}

void count_powers(SeedConditioning& seed) {
  const std::int64_t highest = seed.limit.powers.back();
  seed.expected_counts.assign(static_cast<std::size_t>(highest) + 1, 0);
  for (const std::int64_t power : seed.limit.powers) {
    ++seed.expected_counts[static_cast<std::size_t>(power)];
  }
  seed.counts = seed.expected_counts;
  for (const auto& fits : seed.window_fits) {
    const auto counts = count_slopes(fits, highest);
    if (counts != seed.expected_counts) {
      seed.counts = counts;
    }
  }
}

void check_bounds(SeedConditioning& seed) {
  const ConditioningLimit& limit = seed.limit;
  const auto exponent = static_cast<double>(limit.powers.back());
  const auto workers = static_cast<double>(limit.gamma.size());
  constexpr double rounding = 1e-12;
  for (std::size_t e = 0; e < seed.eps.size(); ++e) {
    const double eps = seed.eps[e];
    double core_norm = 0;
    double core_gamma = INFINITY;
    double stacked_kappa = 0;
    for (const ConditioningPoint& point : seed.points[e]) {
      for (std::size_t k = 0; k < point.values.size(); ++k) {
        const double level = std::pow(eps, static_cast<double>(limit.powers[k]));
        seed.bounds_hold = seed.bounds_hold &&
                           point.values[k] >= level * point.core_gamma / limit.difference_norm * (1 - rounding) &&
                           point.values[k] <= level * point.core_norm * limit.inverse_norm * (1 + rounding);
      }
      seed.residual = std::max(seed.residual, point.residual);
      stacked_kappa = std::max(stacked_kappa, point.stacked_kappa());
      core_norm = std::max(core_norm, point.core_norm);
      core_gamma = std::min(core_gamma, point.core_gamma);
    }
    const double normed = stacked_kappa * std::pow(eps, exponent) / std::sqrt(workers);
    seed.stacked_constant = std::max(seed.stacked_constant, normed);
    const double product = eps * limit.direction_norm;
    const double constant =
        limit.difference_norm * limit.inverse_norm * core_norm / core_gamma * (1 + product) / (1 - product);
    seed.stacked_bound = std::max(seed.stacked_bound, constant);
    seed.stacked_bound_holds = seed.stacked_bound_holds && normed <= constant * (1 + rounding);
  }
  for (std::size_t l = 0; l < limit.constants.size(); ++l) {
    const ConditioningPoint& point = seed.points.back()[l];
    for (std::size_t k = 0; k < point.values.size(); ++k) {
      const double level = std::pow(seed.eps.back(), static_cast<double>(limit.powers[k]));
      seed.constant_error =
          std::max(seed.constant_error, std::abs(point.values[k] / level / limit.constants[l][k] - 1));
    }
  }
}

void judge(SeedConditioning& seed) {
  const auto exponent = static_cast<double>(seed.limit.powers.back());
  const auto is_slope = [](const LogLogFit& fit, double slope) {
    return std::abs(fit.slope - slope) < slope_tolerance;
  };
  if (seed.counts != seed.expected_counts) {
    seed.reason = "the counts per power of eps differ";
  } else if (!is_slope(seed.kappa, -exponent) || !is_slope(seed.stacked_kappa, -exponent)) {
    seed.reason = "a kappa slope differs from -r*";
  } else if (seed.core_change && !is_slope(*seed.core_change, 1)) {
    seed.reason = "K_l(eps) does not tend to K^(l) at rate eps";
  } else if (!seed.bounds_hold || !seed.stacked_bound_holds) {
    seed.reason = "a bound is violated";
  } else if (!(seed.residual < std::pow(10.0, 10 - seed.digits))) {
    seed.reason = "the factorisation is no identity";
  } else {
    seed.reason = "counts, slopes, bounds and factorisation are as the theorem says";
    return;
  }
  // The powers of eps separate once eps is well below gamma / ||K||.
  const auto worst = static_cast<std::size_t>(seed.limit.worst_window());
  const double settled_below = 0.01 * seed.limit.gamma[worst] / seed.limit.norm[worst];
  seed.verdict =
      std::sqrt(seed.eps.front() * seed.eps.back()) > settled_below ? Verdict::unsettled : Verdict::contradicted;
  if (seed.verdict == Verdict::unsettled) {
    seed.reason += fmt::format(", but gamma = {:.2g} (l = {}) is near zero: it takes eps below about {:.1g}",
                               seed.limit.gamma[worst], worst, settled_below);
  }
}

}  // namespace

std::string_view name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::unsettled:
      return "unsettled";
    default:
      return "contradicted";
  }
}

Verdict ConditioningStudy::verdict() const {
  Verdict worst = Verdict::holds;
  for (const SeedConditioning& seed : seeds) {
    worst = std::max(worst, seed.verdict);
  }
  return worst;
}

std::optional<ConditioningStudy> study_conditioning(const ConditioningOptions& options,
                                                    const std::filesystem::path& folder, const StudyHooks& hooks) {
  validate(options);
  ConditioningStudy study{options, {}};
  for (int i = 0; i < options.seeds; ++i) {
    study.seeds.push_back(prepare_seed(options, options.first_seed + static_cast<std::uint64_t>(i)));
  }
  const StudyFolder points(folder, conditioning_run(options));
  if (!PointRunner(options, points, hooks, study.seeds).run()) {
    return std::nullopt;
  }
  for (SeedConditioning& seed : study.seeds) {
    fit_slopes(seed);
    count_powers(seed);
    check_bounds(seed);
    judge(seed);
  }
  return study;
}

}  // namespace cerar
