#include "optimize/fit_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace cerar {
namespace {

// Entries of all N encoders together; beyond this a fit would take gigabytes and hours.
constexpr double kMostEntries = 3e7;

}  // namespace

void check(const FitProblem& problem, const FitOptions& options) {
  validate(problem.shape);
  const double entries = static_cast<double>(problem.shape.workers) * static_cast<double>(problem.shape.rounds()) *
                         static_cast<double>(problem.shape.chunks);
  if (entries > kMostEntries) {
    throw std::invalid_argument(fmt::format(
        "a code for {} workers and {} chunks has {:.2g} numbers in U, more than the {:.2g} that can be fitted ({:.1f} "
        "GB for the matrices alone); take fewer chunks (chunks = 3 workers is a good choice) or fewer workers",
        problem.shape.workers, problem.shape.chunks, entries, kMostEntries,
        3 * entries * sizeof(double) * static_cast<double>(problem.shape.workers) / 1e9));
  }
  if (!(problem.correlation >= 0 && problem.correlation < 1)) {
    throw std::invalid_argument(
        fmt::format("correlation is {}; it must be at least 0 and less than 1", problem.correlation));
  }
  if (problem.eta && !(*problem.eta >= 0 && *problem.eta < 1)) {
    throw std::invalid_argument(fmt::format("eta is {}; it must be at least 0 and less than 1", *problem.eta));
  }
  if (problem.decoder == Decoder::paper && problem.shape.workers < 2) {
    throw std::invalid_argument("the paper's decoder needs at least 2 workers; take own-exact decoding");
  }
  const std::pair<double, const char*> kappas[] = {{problem.bounds.stacked_kappa, "kappa-max"},
                                                   {problem.bounds.window_kappa, "window-kappa-max"}};
  for (const auto& [bound, option] : kappas) {
    if (bound != 0 && !(bound >= 1 && std::isfinite(bound))) {
      throw std::invalid_argument(fmt::format("{} is {}; a condition number is at least 1", option, bound));
    }
  }
  const bool bounded = problem.bounds.any_kappa() || problem.bounds.any_decoder();
  if (problem.decoder == Decoder::paper && (bounded || problem.own_block == OwnBlock::included)) {
    throw std::invalid_argument(
        "bounds and the included own block go with own-exact decoding; the paper's literal decoder has an error of at "
        "least 1 / sqrt(N c) whatever U is");
  }
  if (!(problem.bounds.largest_entry >= 0 && problem.bounds.frobenius >= 0)) {
    throw std::invalid_argument("bounds of R must be positive");
  }
  if (options.draws < 1) {
    throw std::invalid_argument(fmt::format("draws is {}; at least 1 is needed", options.draws));
  }
  if (options.starts && *options.starts < 1) {
    throw std::invalid_argument(fmt::format("starts is {}; at least 1 is needed", *options.starts));
  }
  if (options.threads < 1) {
    throw std::invalid_argument(fmt::format("threads is {}; at least 1 is needed", options.threads));
  }
  if (!(options.time_limit >= 0)) {
    throw std::invalid_argument(fmt::format("the time limit is {} s; it must not be negative", options.time_limit));
  }
}

std::int64_t chosen_first_kept_round(const FitProblem& problem) {
  const RingShape& shape = problem.shape;
  const std::int64_t last = std::max<std::int64_t>(1, shape.workers - 1);
  const bool own_exact = problem.decoder == Decoder::own_exact && problem.own_block == OwnBlock::exact;
  const bool full_window = own_exact && problem.construction == "overlapped" && shape.chunks > shape.workers;
  const std::int64_t first = problem.first_kept_round.value_or(full_window ? 1 : last);
  if (first > last || first < (own_exact ? 1 : last)) {
    throw std::invalid_argument(fmt::format(
        "first_kept_round is {}; with {} workers it must be {}", first, shape.workers,
        own_exact ? fmt::format("from 1 to {}", last) : fmt::format("{} where the own block is decoded too", last)));
  }
  return first;
}

}  // namespace cerar
