#include "optimize/fit.h"

#include "coding/decoding.h"
#include "coding/noise.h"
#include "coding/prediction.h"
#include "coding/received.h"
#include "optimize/family.h"
#include "optimize/search.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cerar {
namespace {

// Entries of all N encoders together; beyond this a fit would take gigabytes and hours.
constexpr double most_entries = 3e7;

void check(const FitProblem& problem, const FitOptions& options) {
  validate(problem.shape);
  const double entries = static_cast<double>(problem.shape.workers) * static_cast<double>(problem.shape.rounds()) *
                         static_cast<double>(problem.shape.chunks);
  if (entries > most_entries) {
    throw std::invalid_argument(
        fmt::format("a code for {} workers and {} chunks has {:.2g} numbers in U, more than the {:.2g} that can be "
                    "fitted; take fewer chunks (chunks = 3 workers is a good choice) or fewer workers",
                    problem.shape.workers, problem.shape.chunks, entries, most_entries));
  }
  if (!(problem.correlation >= 0 && problem.correlation < 1)) {
    throw std::invalid_argument(
        fmt::format("correlation is {}; it must be at least 0 and less than 1", problem.correlation));
  }
  if (problem.decoder == Decoder::paper && problem.shape.workers < 2) {
    throw std::invalid_argument("the paper's decoder needs at least 2 workers; take own-exact decoding");
  }
  if (options.draws < 1) {
    throw std::invalid_argument(fmt::format("draws is {}; at least 1 is needed", options.draws));
  }
}

/// f, checked: 1 for overlapped codes, whose early messages hold the head unmixed, otherwise N - 1.
std::int64_t chosen_first_kept_round(const FitProblem& problem) {
  const RingShape& shape = problem.shape;
  const std::int64_t last = std::max<std::int64_t>(1, shape.workers - 1);
  const bool own_exact = problem.decoder == Decoder::own_exact;
  const bool full_window = own_exact && problem.construction == "overlapped" && shape.chunks > shape.workers;
  const std::int64_t first = problem.first_kept_round.value_or(full_window ? 1 : last);
  if (first > last || first < (own_exact ? 1 : last)) {
    throw std::invalid_argument(
        fmt::format("first_kept_round is {}; with {} workers it must be {}", first, shape.workers,
                    own_exact ? fmt::format("from 1 to {}", last) : fmt::format("{} for the paper's decoder", last)));
  }
  return first;
}

Eigen::MatrixXd to_float(const Eigen::MatrixXd& matrix) { return matrix.cast<float>().cast<double>(); }

/// One code's U, rounded to the wire, ready to be judged by the error that the best R leaves.
class Candidate {
 public:
  Candidate(const FitProblem& problem, const NoiseModel& noise, std::int64_t first_kept_round,
            Matrices<double> encoders)
      : problem_(problem), noise_(noise), first_(first_kept_round), encoders_(std::move(encoders)) {
    for (Eigen::MatrixXd& encoder : encoders_) {
      encoder = to_float(encoder);
      finite_ = finite_ && encoder.allFinite();
    }
    if (finite_) {
      sources_ = noise_sources(encoders_, noise_, NoiseEntry::operations);
    }
  }

  /// Sum over the workers (the first one for all, if they are alike) of the squared error that the best R leaves.
  [[nodiscard]] double error(bool symmetric) const {
    double sum = finite_ ? 0 : std::numeric_limits<double>::infinity();
    for (std::int64_t worker = 0; finite_ && worker < (symmetric ? 1 : problem_.shape.workers); ++worker) {
      const Eigen::MatrixXd received = received_by(worker);
      sum += decoder(worker, received).squared_error;
    }
    return sum;
  }

  [[nodiscard]] Code code() && {
    Code code;
    code.shape = problem_.shape;
    code.decoder = problem_.decoder;
    code.first_kept_round = first_;
    code.noise = noise_;
    for (std::int64_t worker = 0; worker < problem_.shape.workers; ++worker) {
      const Eigen::MatrixXd received = received_by(worker);
      const Eigen::VectorXd size =
          signal_variance<double>(received, worker_covariance(noise_, problem_.shape.workers)).cwiseSqrt();
      // What contributes less than one rounding of a value is dropped: it costs a multiplication and gains nothing.
      const Eigen::MatrixXd best = decoder(worker, received).decoder;
      const Eigen::MatrixXd contribution = size.asDiagonal() * best.cwiseAbs();
      code.decoders.push_back(to_float((contribution.array() < noise_.eta).select(0, best)));
    }
    code.encoders = std::move(encoders_);
    return code;
  }

 private:
  [[nodiscard]] Eigen::MatrixXd received_by(std::int64_t worker) const {
    return received_matrix<double>(encoders_, problem_.decoder, worker, first_);
  }

  [[nodiscard]] BestDecoder<double> decoder(std::int64_t worker, const Eigen::MatrixXd& received) const {
    const Eigen::MatrixXd factor =
        noise_factor(sources_, received, problem_.decoder, worker, first_, noise_, NoiseEntry::operations);
    return optimal_decoder<double>(received, factor, decoding_target<double>(problem_.shape, problem_.decoder, worker),
                                   worker_covariance(noise_, problem_.shape.workers));
  }

  const FitProblem& problem_;
  NoiseModel noise_;
  std::int64_t first_;
  Matrices<double> encoders_;
  NoiseSources sources_;
  bool finite_ = true;
};

}  // namespace

const std::vector<std::string_view>& wire_names() {
  static const std::vector<std::string_view> names = {"f32"};
  return names;
}

double wire_eta(std::string_view wire) {
  if (wire != "f32") {
    throw std::invalid_argument(
        fmt::format("wire \"{}\" is unknown; the known ones are {}", wire, fmt::join(wire_names(), ", ")));
  }
  // A float of mantissa m in [1, 2) has an ulp of 2^-23 / m of its size, and rounding errs by ulp / sqrt(12) rms. Over
  // mantissas distributed as 1 / m, the mean square relative error is 2^-46 / 12 * E[m^-2] = 2^-46 / 12 * (3 / 8) /
  // ln 2.
  return 0x1p-23 / std::sqrt(32 * std::log(2.0));
}

FitResult fit(const FitProblem& problem, const FitOptions& options) {
  check(problem, options);
  const auto start = std::chrono::steady_clock::now();
  const NoiseModel noise{problem.wire, wire_eta(problem.wire), problem.correlation};
  const std::int64_t first = chosen_first_kept_round(problem);

  FitResult result;
  double best = std::numeric_limits<double>::infinity();
  const bool random = problem.construction == "mpc";
  for (int draw = 0; draw < (random ? options.draws : 1); ++draw) {
    const Family family =
        make_family(problem.construction, problem.shape, options.seed + static_cast<std::uint64_t>(draw));
    const auto objective = [&](const std::vector<double>& point) {
      return Candidate(problem, noise, first, family.encoders(point)).error(family.symmetric);
    };
    const SearchResult found = log_search(objective, family.box, 0.01, random ? 0 : 200);
    result.evaluations += found.evaluations;
    if (!(found.value < best)) {
      continue;
    }
    best = found.value;
    result.code = Candidate(problem, noise, first, family.encoders(found.point)).code();
    result.code.construction = {problem.construction, {}, family.seed};
    for (std::size_t k = 0; k < family.parameters.size(); ++k) {
      result.code.construction.parameters[family.parameters[k]] = found.point[k];
    }
  }
  if (!std::isfinite(best)) {
    throw std::runtime_error("no choice of the construction's parameters gave a finite error");
  }
  result.code.predicted_relative_error = predict_error(result.code).relative;
  result.phi = phi(result.code);
  result.kappa_max = kappa_max(result.code);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace cerar
