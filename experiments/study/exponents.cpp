#include "experiments/study/exponents.h"

#include "coding/cyclic.h"
#include "coding/decoding.h"
#include "coding/error.h"
#include "coding/noise.h"
#include "coding/overlapped.h"
#include "coding/received.h"
#include "experiments/study/multiprecision.h"
#include "experiments/study/run_points.h"
#include "experiments/study/study_folder.h"
#include "optimize/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace cerar {
namespace {

constexpr int digits_used = 50;
constexpr double agreement = 1e-9;
constexpr double slope_tolerance = 0.03;
constexpr double search_resolution = 0.03;  // of the parameters' logarithm; the optimum is flat

/// The predicted error of worker 0, whom all others are like, with the best R (docs/theory.md, eqs. 10 and 11). The
/// noise's size needs no more than double; the signal, from which kappa is taken, does.
double predicted_error(const RingShape& shape, const Matrices<Wide>& encoders, std::int64_t first_kept, double eta) {
  Matrices<double> narrow;
  for (const Matrix<Wide>& encoder : encoders) {
    narrow.push_back(encoder.cast<double>());
  }
  const NoiseModel noise{.wire = "f32", .eta = eta};
  const Matrix<Wide> received = received_matrix(encoders, Decoder::own_exact, 0, first_kept);
  const Eigen::MatrixXd factor =
      noise_factor(noise_sources(narrow, noise, NoiseEntry::operations), received.cast<double>(), Decoder::own_exact, 0,
                   first_kept, noise, NoiseEntry::operations);
  const auto best =
      optimal_decoder<Wide>(received, factor.cast<Wide>(), decoding_target<Wide>(shape, Decoder::own_exact, 0),
                            uniform_covariance<Wide>(shape.workers, Wide(0)));
  return std::sqrt(static_cast<double>(best.squared_error) / static_cast<double>(shape.workers * shape.chunks));
}

double error_at(const ExponentCurve& curve, const ExponentPoint& point) {
  if (curve.construction == "overlapped") {
    return predicted_error(curve.shape, overlapped_encoders<Wide>(curve.shape, Wide(point.delta), Wide(point.eps)), 1,
                           point.eta);
  }
  return predicted_error(curve.shape, cyclic_encoders<Wide>(curve.shape, Wide(point.eps)),
                         std::max<std::int64_t>(1, curve.shape.workers - 1), point.eta);
}

/// A decade and a half round what the theory expects.
LogRange range_round(double expected) { return {expected / 30, std::min(expected * 30, 3.0), 5}; }

ExponentPoint best_point(const ExponentCurve& curve, double eta) {
  const PrecisionScope scope(digits_used);
  const bool overlapped = curve.construction == "overlapped";
  const bool spaced = !overlapped || curve.shape.chunks > 2 * curve.shape.workers;
  std::vector<LogRange> box;
  if (overlapped) {
    box.push_back(range_round(std::sqrt(eta)));
  }
  if (spaced) {
    box.push_back(range_round(std::pow(eta, curve.theory)));
  }
  const auto point_of = [&](const std::vector<double>& parameters) {
    return ExponentPoint{eta, 0, overlapped ? parameters.front() : 0, spaced ? parameters.back() : 0};
  };
  const SearchResult found =
      log_search([&](const std::vector<double>& parameters) { return error_at(curve, point_of(parameters)); }, box,
                 search_resolution, 0);
  ExponentPoint point = point_of(found.point);
  point.error = found.value;
  const PrecisionScope twice(2 * digits_used);
  const double better = error_at(curve, point);
  if (!(std::abs(point.error / better - 1) <= agreement)) {
    throw Error(
        fmt::format("{} with {} chunks at eta = {}: the error {} becomes {} when {} digits become {}; take a "
                    "larger eta or fewer chunks",
                    curve.construction, curve.shape.chunks, eta, point.error, better, digits_used, 2 * digits_used));
  }
  return point;
}

void validate(const ExponentOptions& options) {
  if (options.eta.size() < 3) {
    throw std::invalid_argument("at least 3 values of eta are needed to fit an exponent; give more --points");
  }
  if (options.workers < 2 || options.chunks.empty()) {
    throw std::invalid_argument("at least 2 workers and one number of chunks are needed");
  }
  if (options.eta.front() > 0.1 || options.eta.back() < 1e-30) {
    throw std::invalid_argument("eta must lie between 1e-30 and 0.1: beyond, nothing can be decoded or verified");
  }
  for (const std::int64_t chunks : options.chunks) {
    cerar::validate(RingShape{options.workers, chunks});
    if (chunks == options.workers) {
      throw std::invalid_argument("chunks = workers is the exact ring, which has no exponent; take more chunks");
    }
  }
}

std::vector<ExponentCurve> curves_for(const ExponentOptions& options) {
  std::vector<ExponentCurve> curves;
  for (const char* construction : {"cyclic", "overlapped"}) {
    for (const std::int64_t chunks : options.chunks) {
      ExponentCurve curve{construction, {options.workers, chunks}, 0, {}, {}};
      const auto exponent = static_cast<double>(curve.shape.conditioning_exponent());
      curve.theory = curve.construction == "overlapped" ? 1 / std::max(2.0, exponent) : 1 / (1 + exponent);
      curve.points.resize(options.eta.size());
      curves.push_back(std::move(curve));
    }
  }
  return curves;
}

ExponentPoint compute_or_read(const ExponentCurve& curve, double eta, const StudyFolder& folder) {
  const std::string name = fmt::format("{}_{}_eta_{}", curve.construction, curve.shape.chunks, eta);
  if (const auto kept = folder.read_point(name)) {
    return {eta, kept->at("error").get<double>(), kept->at("delta").get<double>(), kept->at("eps").get<double>()};
  }
  const ExponentPoint point = best_point(curve, eta);
  folder.write_point(name, {{"error", point.error}, {"delta", point.delta}, {"eps", point.eps}});
  return point;
}

void fit_curve(ExponentCurve& curve) {
  const double middle = std::sqrt(curve.points.front().eta * curve.points.back().eta) * (1 + 1e-9);
  std::vector<double> eta;
  std::vector<double> error;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    if (curve.points[i].eta <= middle || i + 3 >= curve.points.size()) {
      eta.push_back(curve.points[i].eta);
      error.push_back(curve.points[i].error);
    }
  }
  curve.fit = fit_log_log(eta, error);
}

}  // namespace

std::optional<ExponentStudy> study_exponents(const ExponentOptions& options, const std::filesystem::path& folder,
                                             const StudyHooks& hooks) {
  validate(options);
  ExponentStudy study{options, {}, digits_used, true};
  std::sort(study.options.eta.begin(), study.options.eta.end(), std::greater<>());
  study.curves = curves_for(study.options);
  const StudyFolder points(folder, {{"study", "exponents"}, {"workers", options.workers}});
  const std::vector<double>& eta = study.options.eta;
  const auto point = [&](std::size_t index) {
    ExponentCurve& curve = study.curves[index / eta.size()];
    curve.points[index % eta.size()] = compute_or_read(curve, eta[index % eta.size()], points);
    return true;
  };
  if (!run_points(study.curves.size() * eta.size(), hooks, point)) {
    return std::nullopt;
  }
  for (ExponentCurve& curve : study.curves) {
    fit_curve(curve);
    study.holds = study.holds && std::abs(curve.fit.slope - curve.theory) < slope_tolerance;
  }
  return study;
}

}  // namespace cerar
