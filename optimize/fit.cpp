#include "optimize/fit.h"

#include "coding/conditioning.h"
#include "coding/covariance.h"
#include "coding/prediction.h"
#include "coding/simulation.h"
#include "coding/wire.h"
#include "optimize/ansatz.h"
#include "optimize/candidate.h"
#include "optimize/descent.h"
#include "optimize/family.h"
#include "optimize/fit_request.h"
#include "optimize/fit_watch.h"
#include "optimize/parallel.h"
#include "optimize/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

namespace cerar {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr int kMostStarts = 24;
// Evaluations of one descent: of each, and more of those in front.
constexpr int kCoarseEvaluations = 150;
constexpr int kFineEvaluations = 1000;

// Free numbers beyond which multiplicative perturbation is not descended in: its Hessian is dense.
constexpr Eigen::Index kMostPerturbationNumbers = 400;

/// How many descents of so many evaluations fit in the time that a default fit may take: under two seconds on one core
/// for N c <= 128, more for larger ones. An evaluation costs about its QR.
int affordable_descents(const ErrorModel& model, double evaluations, double least) {
  const double rows = static_cast<double>(model.shape.workers * model.shape.chunks);
  const double kept = static_cast<double>(model.kept());
  const bool by_chain = model.symmetric && model.shape.chunks % model.shape.workers == 0;
  const double evaluation = static_cast<double>(model.judged_workers()) * rows * kept *
                            (by_chain ? 30 : 2 * kept + 4 * static_cast<double>(model.shape.chunks));
  const double operations = 8e8 * std::clamp(rows / 128, 1.0, 6.0);
  return static_cast<int>(std::clamp(operations / (evaluations * evaluation), least, double{kMostStarts}));
}

/// A family in closed form, scanned.
struct Scanned {
  Family family;
  ErrorModel model;
  SearchResult found;
};

class Fit {
 public:
  Fit(const FitProblem& problem, const FitOptions& options)
      : problem_(problem), options_(options), watch_(options), first_(chosen_first_kept_round(problem)) {
    context_ = {problem.shape, problem.decoder, first_, noise(), entry(), 0};
  }

  FitResult run() {
    scan();
    if (problem_.bounds.any_decoder()) {
      bound_decoder();
    } else {
      descend_all();
    }
    result_.interrupted = watch_.stopped();
    finish();
    return std::move(result_);
  }

 private:
  [[nodiscard]] NoiseModel noise() const {
    return {problem_.wire, problem_.eta.value_or(wire_eta(problem_.wire, problem_.shape.workers)), problem_.correlation,
            scaled_covariance()};
  }
  /// The measured covariance of mean diagonal 1: errors are relative, so its unit must not matter.
  [[nodiscard]] Eigen::MatrixXd scaled_covariance() const {
    const Eigen::MatrixXd& covariance = problem_.covariance;
    return covariance.size() == 0 ? covariance : Eigen::MatrixXd(covariance / covariance.diagonal().mean());
  }
  [[nodiscard]] NoiseEntry entry() const { return problem_.noise_entry.value_or(noise_entry_of(problem_.wire)); }

  [[nodiscard]] bool descends(const Scanned& scanned) const {
    return options_.descend && problem_.decoder == Decoder::own_exact && scanned.family.ansatz != nullptr &&
           !scanned.found.point.empty();
  }

  void scan() {
    const bool random = problem_.construction == "mpc";
    for (int draw = 0; draw < (random ? options_.draws : 1); ++draw) {
      for (Family& family :
           make_families(problem_.construction, problem_.shape, options_.seed + static_cast<std::uint64_t>(draw),
                         problem_.own_block == OwnBlock::included)) {
        ErrorModel model{
            problem_.shape, problem_.own_block, first_, noise(), entry(), 0, family.symmetric() && uniform()};
        scanned_.push_back({std::move(family), std::move(model), {}});
      }
    }
    run_parallel(scanned_.size(), options_.threads, [&](std::size_t k) { scan(scanned_[k]); });
    if (watch_.stopped() ||
        std::any_of(scanned_.begin(), scanned_.end(), [](const Scanned& s) { return std::isfinite(s.found.value); })) {
      return;
    }
    if (problem_.bounds.any_kappa()) {
      double smallest = kInfinity;
      for (const double kappa : smallest_kappa_) {
        smallest = std::min(smallest, kappa);
      }
      throw std::invalid_argument(fmt::format(
          "no code of the construction {} is so well-conditioned; the smallest condition number found for {} workers "
          "and {} chunks is {:.3g}",
          problem_.construction, problem_.shape.workers, problem_.shape.chunks, smallest));
    }
    throw std::runtime_error("no choice of the construction's parameters gave a finite error");
  }

  void scan(Scanned& scanned) {
    const Objective<double> objective(scanned.model);
    // Where U stays as it is, it is judged as rounded to the wire, and a lucky rounding is worth looking for.
    const bool rounds = problem_.decoder == Decoder::paper || !options_.descend || !scanned.family.ansatz;
    const auto error = [&](const std::vector<double>& point) {
      if (watch_.asks_to_stop()) {
        return kInfinity;
      }
      const Matrices<double> encoders = scanned.family.encoders(point);
      if (!within_bounds(objective, encoders)) {
        return kInfinity;
      }
      if (rounds && problem_.own_block == OwnBlock::exact) {
        return candidate_error(context_, encoders, scanned.model.symmetric);
      }
      return objective.evaluate(encoders, false, false).error;
    };
    const bool random = problem_.construction == "mpc";
    scanned.found = log_search(error, scanned.family.box, 0.01, rounds && !random ? 200 : 0);
  }

  [[nodiscard]] bool within_bounds(const Objective<double>& objective, const Matrices<double>& encoders) {
    const std::pair<double, Conditioned> limits[] = {{problem_.bounds.stacked_kappa, Conditioned::stacked},
                                                     {problem_.bounds.window_kappa, Conditioned::windows}};
    for (const auto& [bound, which] : limits) {
      if (bound > 0 && problem_.shape.workers > 1) {
        const double kappa = std::exp(smooth_condition(objective, which, encoders, false).log_kappa);
        if (!(kappa <= bound)) {
          const std::lock_guard lock(mutex_);
          smallest_kappa_.push_back(kappa);
          return false;
        }
      }
    }
    return true;
  }

  /// All descents; `white` is the price on R.
  void descend_all() {
    int starts = kMostStarts;
    int refined = kMostStarts;
    for (const Scanned& scanned : scanned_) {
      starts = std::min(starts, affordable_descents(scanned.model, kCoarseEvaluations, 2));
      refined =
          std::min(refined, affordable_descents(scanned.model, kFineEvaluations, scanned.model.symmetric ? 3 : 1));
    }
    const bool random = problem_.construction == "mpc";
    std::size_t count = scanned_.size();
    if (!random && std::any_of(scanned_.begin(), scanned_.end(), [&](const auto& s) { return descends(s); })) {
      count = static_cast<std::size_t>(options_.starts.value_or(starts));
    }
    count = std::max(count, scanned_.size());
    if (context_.white > 0) {
      count = scanned_.size();  // one of many steps of a bisection
    }
    result_.starts.resize(count);
    ends_.resize(count);
    watch_.expect(count);
    run_parallel(count, options_.threads, [&](std::size_t k) { descend_one(k); });
    // The last per mille takes as long as all before it: where that is long, only those in front go on.
    const std::vector<std::size_t> order = by_error();
    run_parallel(std::min(order.size(), static_cast<std::size_t>(refined)), options_.threads,
                 [&](std::size_t k) { refine(order[k]); });
  }

  /// Where a descent ended.
  struct End {
    const Scanned* scanned = nullptr;
    std::unique_ptr<Ansatz> ansatz;  ///< null if the closed form was kept
    Eigen::VectorXd x;
    Matrices<double> encoders;
    double error = kInfinity;  ///< squared, by the objective
  };

  void descend_one(std::size_t k) {
    const Scanned& scanned = scanned_[k % scanned_.size()];
    const std::size_t turn = k / scanned_.size();
    if (!std::isfinite(scanned.found.value) || (turn > 0 && watch_.stopped())) {
      return;
    }
    FitStart& start = result_.starts[k];
    start.from = turn == 0 ? "closed form" : fmt::format("random {}", k);
    if (scanned_.size() > 1 && problem_.construction == "overlapped" && k % scanned_.size() == 1) {
      start.from += ", two heads";
    }
    End& end = ends_[k];
    end.scanned = &scanned;
    end.encoders = scanned.family.encoders(scanned.found.point);
    const Objective<double> objective = descended_objective(scanned);
    end.error = objective_error(objective, end.encoders);
    start.closed_form_error = start.error = std::sqrt(end.error);
    if (descends(scanned)) {
      auto ansatz =
          options_.free || !uniform() ? make_free_ansatz(end.encoders) : scanned.family.ansatz(scanned.found.point);
      const bool in_blocks = options_.free || !uniform() || scanned.family.symmetric();
      if (in_blocks || ansatz->start().size() <= kMostPerturbationNumbers) {
        end.x = turn == 0 ? ansatz->start() : displaced(objective, *ansatz, end.error, k, turn);
        end.ansatz = std::move(ansatz);
        go_down(k, kCoarseEvaluations, 1e-6, 0);
      }
    }
    watch_.start_done(start.error);
  }

  void refine(std::size_t k) {
    if (ends_[k].ansatz && !watch_.stopped()) {
      go_down(k, kFineEvaluations, 1e-7, 3);
    }
  }

  void go_down(std::size_t k, int most_evaluations, double tolerance, int kicks) {
    End& end = ends_[k];
    FitStart& start = result_.starts[k];
    DescentOptions options;
    options.stacked_kappa = problem_.bounds.stacked_kappa;
    options.window_kappa = problem_.bounds.window_kappa;
    options.most_evaluations = most_evaluations;
    options.tolerance = tolerance;
    options.kicks = kicks;
    options.stop = [this] { return watch_.asks_to_stop(); };
    Descent descent = descend(descended_objective(*end.scanned), *end.ansatz, end.x, options);
    end.encoders = end.ansatz->encoders(descent.x);
    end.x = std::move(descent.x);
    end.error = descent.error;
    start.error = std::sqrt(end.error);
    start.evaluations += descent.evaluations;
    for (const double error : descent.history) {
      start.history.push_back(std::sqrt(error));
    }
  }

  /// Where every U_w goes its own way, one worker no longer stands for all.
  [[nodiscard]] Objective<double> descended_objective(const Scanned& scanned) const {
    ErrorModel model = scanned.model;
    model.symmetric = model.symmetric && !(options_.free && descends(scanned));
    return Objective<double>(model);
  }

  [[nodiscard]] double objective_error(const Objective<double>& objective, const Matrices<double>& encoders) const {
    return problem_.decoder == Decoder::paper ? candidate_error(context_, encoders, objective.model().symmetric)
                                              : objective.evaluate(encoders, false, false).error;
  }

  /// A random point round the closed form, as far off as directions matter: a step of 1 in the preconditioned
  /// coordinates about doubles the squared error. Steps of 3 to 100 are tried by turns.
  [[nodiscard]] Eigen::VectorXd displaced(const Objective<double>& objective, const Ansatz& ansatz, double error,
                                          std::size_t k, std::size_t turn) {
    const auto here = objective.evaluate(ansatz.encoders(ansatz.start()), false, true);
    const Preconditioner preconditioner = ansatz.preconditioner(ansatz.start(), here.curvature);
    std::mt19937_64 engine(options_.seed * 0x9E3779B97F4A7C15U + k);
    Eigen::VectorXd direction(ansatz.start().size());
    for (double& value : direction) {
      value = static_cast<double>(engine() >> 11U) * 0x1p-52 - 1;
    }
    double length = 3 * std::pow(10.0, 0.5 * static_cast<double>(turn % 4)) * std::sqrt(error);
    for (int halving = 0; halving < 20; ++halving, length /= 2) {
      const Eigen::VectorXd point = ansatz.start() + length * preconditioner.step(direction);
      if (within_bounds(objective, ansatz.encoders(point))) {
        return point;
      }
    }
    return ansatz.start();
  }

  /// Raises the price on R until R is within its bounds: the least price is found by bisection of its logarithm.
  void bound_decoder() {
    const auto excess = [&](double white) {
      set_white(white);
      result_.starts.clear();
      ends_.clear();
      descend_all();
      const Code code = best_code();
      double largest = 0;
      double frobenius = 0;
      for (const Eigen::MatrixXd& decoder : code.decoders) {
        largest = std::max(largest, decoder.cwiseAbs().maxCoeff());
        frobenius = std::max(frobenius, decoder.norm());
      }
      const Bounds& bounds = problem_.bounds;
      return std::max(bounds.largest_entry > 0 ? largest / bounds.largest_entry : 0,
                      bounds.frobenius > 0 ? frobenius / bounds.frobenius : 0);
    };
    double low = 1e-14;
    double high = 1;
    const auto require_time = [this] {
      if (watch_.stopped()) {
        throw std::runtime_error(
            "the fit was stopped before it had found a code within the bounds of R; give it more time");
      }
    };
    if (excess(0) <= 1) {
      return;
    }
    require_time();
    if (const double least = excess(high); least > 1) {
      throw std::invalid_argument(
          fmt::format("no code with so small an R was found; even at an error of {:.3g} R is {:.3g} times the bound",
                      std::sqrt(ends_[result_.best_start].error), least));
    }
    for (int step = 0; step < 24 && high / low > 1.05 && !watch_.stopped(); ++step) {
      const double middle = std::sqrt(low * high);
      (excess(middle) <= 1 ? high : low) = middle;
    }
    require_time();
    (void)excess(high);
    require_time();
  }

  void set_white(double white) {
    context_.white = white;
    for (Scanned& scanned : scanned_) {
      scanned.model.white = white;
    }
  }

  [[nodiscard]] std::vector<std::size_t> by_error() const {
    std::vector<std::size_t> order(ends_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t k) { return !std::isfinite(ends_[k].error); });
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return ends_[a].error < ends_[b].error; });
    return order;
  }

  /// The ends that are worth rounding: within a few percent of the best, at most eight of them, fewer where that would
  /// take longer than finding them did.
  [[nodiscard]] std::vector<std::size_t> finalists() const {
    std::vector<std::size_t> order = by_error();
    std::erase_if(order, [&, best = order.empty() ? 0 : order.front()](std::size_t k) {
      return ends_[k].error > 1.1 * ends_[best].error;
    });
    const std::int64_t entries = problem_.shape.workers * problem_.shape.chunks * problem_.shape.rounds();
    const std::size_t most = watch_.stopped() ? 1 : (entries > 200'000 ? 2 : 8);
    order.resize(std::min(order.size(), most));
    return order;
  }

  [[nodiscard]] Code best_code() {
    const std::vector<std::size_t> order = finalists();
    if (order.empty()) {
      throw std::runtime_error("the fit was stopped before it had found any code; give it more time");
    }
    // Each as it ended, and as it set out: a closed form has many coefficients that need no rounding.
    std::vector<Code> codes(2 * order.size());
    run_parallel(codes.size(), options_.threads, [&](std::size_t k) {
      const End& end = ends_[order[k / 2]];
      const bool descended = k % 2 == 0 && end.ansatz != nullptr;
      Matrices<double> encoders = k % 2 == 0 ? end.encoders : end.scanned->family.encoders(end.scanned->found.point);
      for (Eigen::MatrixXd& encoder : encoders) {
        encoder.conservativeResize(problem_.shape.rounds(), Eigen::NoChange);  // round 0 is not sent
      }
      if (descended) {
        encoders = scaled_to_wire(context_, encoders, end.scanned->model.symmetric && !options_.free);
      }
      codes[k] = make_candidate(context_, encoders);
      const bool alike = end.scanned->model.symmetric && !(options_.free && descended);
      codes[k].predicted_relative_error = predict_error(codes[k], entry(), alike ? 1 : 0).relative;
    });
    std::size_t best = 0;
    for (std::size_t k = 1; k < codes.size(); ++k) {
      if (codes[k].predicted_relative_error < codes[best].predicted_relative_error) {
        best = k;
      }
    }
    result_.best_start = order[best / 2];
    Code code = std::move(codes[best]);
    const Scanned& scanned = *ends_[result_.best_start].scanned;
    code.construction = {problem_.construction, {}, scanned.family.seed};
    for (std::size_t k = 0; k < scanned.family.parameters.size(); ++k) {
      code.construction.parameters[scanned.family.parameters[k]] = scanned.found.point[k];
    }
    return code;
  }

  [[nodiscard]] bool uniform() const { return problem_.covariance.size() == 0; }

  void finish() {
    result_.code = best_code();
    result_.code.predicted_relative_error = predict_error(result_.code, entry()).relative;
    const End& end = ends_[result_.best_start];
    ErrorModel model = end.scanned->model;
    result_.phi = phi(result_.code);
    result_.kappa_max = kappa_max(result_.code);
    if (model.own_block == OwnBlock::included) {
      const Objective<double> objective(model);
      const auto here = objective.evaluate(end.encoders, false, false);
      result_.phi = 0;
      result_.kappa_max = 1;
      for (std::int64_t worker = 0; worker < model.judged_workers(); ++worker) {
        const auto k = static_cast<std::size_t>(worker);
        const double each = static_cast<double>(model.shape.workers / model.judged_workers());
        result_.phi +=
            each * (here.received[k] * here.decoders[k] - decoding_target<double>(model.shape, Decoder::paper, worker))
                       .squaredNorm();
        result_.kappa_max = std::max(result_.kappa_max, kappa2(here.received[k]));
      }
    }
    result_.kappa_window = 1;
    for (const Eigen::MatrixXd& encoder : result_.code.encoders) {
      result_.kappa_window = std::max(result_.kappa_window, encoder.isZero(0) ? 1.0 : kappa2(encoder));
    }
    for (const Scanned& scanned : scanned_) {
      result_.evaluations += scanned.found.evaluations;
    }
    for (const FitStart& start : result_.starts) {
      result_.evaluations += start.evaluations;
    }
    result_.code.simulated_relative_error = simulate_mean(result_.code);
    result_.seconds = watch_.seconds();
  }

  const FitProblem& problem_;
  const FitOptions& options_;
  FitWatch watch_;
  std::int64_t first_;
  CandidateContext context_;
  std::vector<Scanned> scanned_;
  std::vector<End> ends_;
  std::mutex mutex_;
  std::vector<double> smallest_kappa_;  ///< of what the bounds kept out
  FitResult result_;
};

}  // namespace

FitResult fit(const FitProblem& problem, const FitOptions& options) {
  check(problem, options);
  return Fit(problem, options).run();
}

}  // namespace cerar
