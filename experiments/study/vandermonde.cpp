#include "experiments/study/vandermonde.h"

#include "coding/conditioning.h"
#include "coding/error.h"
#include "coding/random.h"
#include "coding/received.h"
#include "coding/reference.h"
#include "coding/vandermonde.h"
#include "experiments/study/run_points.h"
#include "experiments/study/study_folder.h"

#include <Eigen/LU>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>

namespace cerar {
namespace {

constexpr double agreement = 1e-12;
constexpr int map_digits = 50;
constexpr std::int64_t values = 8;  ///< of a chunk of the random gradients
constexpr std::uint64_t gradient_seed = 1;

/// Windows are conditioned as tau^-(c - 1), times a constant that is itself a product of c - 1 node distances.
int digits_for(const RingShape& shape, double tau) {
  return static_cast<int>(std::ceil(static_cast<double>(shape.chunks - 1) * (std::log10(1 / tau) + 1))) + 30;
}

Matrices<Wide> decoders(const RingShape& shape, const Vector<Wide>& nodes, const Wide& tau) {
  Matrices<Wide> result;
  for (std::int64_t i = 0; i < shape.workers; ++i) {
    result.push_back(vandermonde_window(shape, nodes, tau, i).partialPivLu().inverse().transpose());
  }
  return result;
}

/// Phi, Phi / leading - 1, kappa in the precision of the thread.
Vector<Wide> figures(const VandermondeOptions& options, double tau_value) {
  const RingShape& shape = options.shape;
  const Vector<Wide> nodes = options.nodes.at(shape.chunks);
  const Wide tau(tau_value);
  const Matrices<Wide> encoders = vandermonde_encoders(shape, nodes, tau);
  const Matrices<Wide> inverses = decoders(shape, nodes, tau);
  Wide phi = 0;
  Wide kappa = 0;
  for (std::int64_t i = 0; i < shape.workers; ++i) {
    const auto received =
        received_matrix(encoders, Decoder::own_exact, i, std::max<std::int64_t>(1, shape.workers - 1));
    phi += (received * inverses[static_cast<std::size_t>(i)] - decoding_target<Wide>(shape, Decoder::own_exact, i))
               .squaredNorm();
    kappa = std::max(kappa, kappa2_jacobi(vandermonde_window(shape, nodes, tau, i)));
  }
  // Phi = N^3 (N - 1) / 2 tau^2 sum xi^2 + O(tau^3)   (docs/theory.md, eq. 13b)
  const Wide n = shape.workers;
  const Wide leading = n * n * n * (n - 1) / 2 * tau * tau * nodes.squaredNorm();
  Vector<Wide> result(4);
  result << phi, Wide(phi / leading - 1), kappa, leading;
  return result;
}

VandermondePoint compute_point(const VandermondeOptions& options, double tau, int digits) {
  const auto at = [&](int precision) {
    const PrecisionScope scope(precision);
    return figures(options, tau);
  };
  const Vector<Wide> found = at(digits);
  const Vector<Wide> better = at(2 * digits);
  for (Eigen::Index i = 0; i < found.size(); ++i) {
    const Wide change = abs(Wide(found(i) / better(i) - 1));
    if (!(change <= agreement)) {
      throw Error(
          fmt::format("at tau = {} a figure changes by {:.1g} of its value when {} digits become {}; take a "
                      "larger tau",
                      tau, static_cast<double>(change), digits, 2 * digits));
    }
  }
  const PrecisionScope scope(digits);
  const Matrix<Wide> window = vandermonde_window(options.shape, options.nodes.at(options.shape.chunks), Wide(tau), 0);
  return {tau,
          static_cast<double>(found(0)),
          static_cast<double>(found(3)),
          static_cast<double>(found(1)),
          static_cast<double>(found(2)),
          kappa2(window.cast<double>())};
}

/// Runs the rounds (docs/theory.md, eqs. 1-4) in one scalar on random gradients, U and R rounded to it once, and
/// compares with the true sum.
template <class Scalar>
double decoding_error(const RingShape& shape, const Matrices<Wide>& wide_encoders,
                      const Matrices<Wide>& wide_decoders) {
  const std::int64_t n = shape.workers;
  NormalGenerator normal(gradient_seed);
  Matrices<Scalar> gradients;
  Matrices<Scalar> encoders;
  Matrix<Scalar> sum = Matrix<Scalar>::Zero(values, shape.chunks);
  for (std::int64_t i = 0; i < n; ++i) {
    // Rounded to float first, so that every scalar sums the same numbers.
    gradients.push_back(Matrix<Scalar>::NullaryExpr(
        values, shape.chunks, [&] { return Scalar(static_cast<double>(static_cast<float>(normal()))); }));
    encoders.push_back(wide_encoders[static_cast<std::size_t>(i)].cast<Scalar>());
    sum += gradients.back();
  }
  const auto delta = [&](std::int64_t i, std::int64_t t) {
    return encode<Scalar>(gradients[static_cast<std::size_t>(i)],
                          encoders[static_cast<std::size_t>(i)].row(t - 1).transpose());
  };
  const std::int64_t first_kept = std::max<std::int64_t>(1, n - 1);
  Matrices<Scalar> kept(static_cast<std::size_t>(n), Matrix<Scalar>(values, shape.chunks));
  std::vector<Vector<Scalar>> of_others(static_cast<std::size_t>(n));
  for (std::int64_t t = 1; t <= shape.rounds(); ++t) {
    std::vector<Vector<Scalar>> sent;
    for (std::int64_t i = 0; i < n; ++i) {
      sent.push_back(t == 1 ? delta(i, t) : Vector<Scalar>(of_others[static_cast<std::size_t>(i)] + delta(i, t)));
    }
    for (std::int64_t i = 0; i < n; ++i) {
      Vector<Scalar>& others = of_others[static_cast<std::size_t>(i)];
      others = sent[static_cast<std::size_t>(wrap(i - 1, n))];
      if (t >= n) {
        others -= delta(i, t - n + 1);
      }
      if (t >= first_kept) {
        kept[static_cast<std::size_t>(i)].col(t - first_kept) = others;
      }
    }
  }
  Scalar squares(0);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Matrix<Scalar> decoder = wide_decoders[i].cast<Scalar>();
    squares += (gradients[i] + kept[i] * decoder - sum).squaredNorm();
  }
  const double error = std::sqrt(static_cast<double>(Scalar(squares / (Scalar(n) * sum.squaredNorm()))));
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

VandermondeDecoding decode(const VandermondeOptions& options, std::int64_t chunks, double tau_value) {
  const RingShape shape{options.shape.workers, chunks};
  VandermondeDecoding result{chunks, tau_value};
  const PrecisionScope scope(std::max(2 * map_digits, digits_for(shape, tau_value)));
  const Vector<Wide> nodes = options.nodes.at(chunks);
  const Wide tau(tau_value);
  const Matrices<Wide> encoders = vandermonde_encoders(shape, nodes, tau);
  const Matrices<Wide> inverses = decoders(shape, nodes, tau);
  result.exact = decoding_error<Wide>(shape, encoders, inverses);
  result.float32 = decoding_error<float>(shape, encoders, inverses);
  result.float64 = decoding_error<double>(shape, encoders, inverses);
  const auto rounded = [](const Matrices<Wide>& matrices) {
    Matrices<Wide> copies;
    for (const Matrix<Wide>& matrix : matrices) {
      copies.push_back(matrix.unaryExpr([](const Wide& value) { return Wide(value, map_digits); }));
    }
    return copies;
  };
  const PrecisionScope fifty(map_digits);
  result.fifty_digits = decoding_error<Wide>(shape, rounded(encoders), rounded(inverses));
  return result;
}

void validate(const VandermondeOptions& options) {
  cerar::validate(options.shape);
  if (options.shape.workers < 2) {
    throw std::invalid_argument("workers is 1: one worker has nothing to decode; take at least 2");
  }
  if (options.tau.size() < 3) {
    throw std::invalid_argument("at least 3 values of tau are needed to fit a slope; give more --points");
  }
  const double largest = static_cast<double>(Wide(options.nodes.at(options.shape.chunks).cwiseAbs().maxCoeff()));
  if (options.tau.front() * largest >= 1) {
    throw std::invalid_argument(
        fmt::format("tau = {} is not below 1 / max |xi| = {:.4g}: nodes would reach 0; start "
                    "--tau lower",
                    options.tau.front(), 1 / largest));
  }
}

/// Phi / leading - 1 = -(N+1) tau sum xi^3 / sum xi^2 + (N+1)(7N+11)/12 tau^2 sum xi^4 / sum xi^2 + ..
void expect_remainder(VandermondeStudy& study) {
  const Vector<Wide> nodes = study.options.nodes.at(study.options.shape.chunks);
  const auto n = static_cast<double>(study.options.shape.workers);
  const double squares = static_cast<double>(Wide(nodes.squaredNorm()));
  const double cubes = static_cast<double>(Wide(nodes.array().cube().sum()));
  const double fourths = static_cast<double>(Wide(nodes.array().square().square().sum()));
  const bool symmetric = std::abs(cubes) < 1e-14 * squares;
  study.expected_order = symmetric ? 4 : 3;
  study.remainder_constant = symmetric ? (n + 1) * (7 * n + 11) / 12 * fourths / squares : -(n + 1) * cubes / squares;
}

void fit(VandermondeStudy& study) {
  const auto& points = study.points;
  const double middle = std::sqrt(points.front().tau * points.back().tau) * (1 + 1e-9);
  std::vector<double> tau;
  std::vector<double> phi;
  std::vector<double> remainder;
  std::vector<double> kappa;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].tau <= middle || i + 3 >= points.size()) {
      tau.push_back(points[i].tau);
      phi.push_back(points[i].phi);
      remainder.push_back(std::abs(points[i].remainder) * points[i].leading);
      kappa.push_back(points[i].kappa);
    }
  }
  study.phi = fit_log_log(tau, phi);
  study.remainder = fit_log_log(tau, remainder);
  study.kappa = fit_log_log(tau, kappa);
  constexpr double tolerance = 0.02;
  const auto exponent = static_cast<double>(study.options.shape.chunks - 1);
  const double seen = points.back().remainder / std::pow(points.back().tau, study.expected_order - 2);
  study.holds = std::abs(study.phi.slope - 2) < tolerance &&
                std::abs(study.remainder.slope - study.expected_order) < tolerance &&
                std::abs(seen / study.remainder_constant - 1) < tolerance &&
                std::abs(study.kappa.slope + exponent) < tolerance * std::max(1.0, exponent);
}

}  // namespace

VandermondeNodes vandermonde_nodes_named(const std::string& name, std::int64_t chunks) {
  if (name == "equispaced") {
    return {name, true, [](std::int64_t c) { return vandermonde_nodes<Wide>(c); }};
  }
  if (name == "chebyshev") {
    return {name, true, [](std::int64_t c) { return chebyshev_nodes<Wide>(c); }};
  }
  std::ifstream file(name);
  if (!file) {
    throw FileError(
        fmt::format("{}: nodes are equispaced, chebyshev or a readable file of numbers; this is none of "
                    "them",
                    name));
  }
  std::vector<std::string> texts;
  std::set<Wide> different;
  const PrecisionScope scope(map_digits);
  for (std::string line; std::getline(file, line);) {
    line.erase(std::remove_if(line.begin(), line.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
               line.end());
    if (line.empty()) {
      continue;
    }
    try {
      different.insert(Wide(line));
    } catch (const std::exception&) {
      throw FileError(fmt::format("{}: line {} is \"{}\", which is no number", name, texts.size() + 1, line));
    }
    texts.push_back(line);
  }
  if (static_cast<std::int64_t>(texts.size()) != chunks || different.size() != texts.size()) {
    throw FileError(fmt::format("{}: holds {} numbers, {} of them different; {} different ones are needed, one a chunk",
                                name, texts.size(), different.size(), chunks));
  }
  return {name, false, [texts](std::int64_t) {
            Vector<Wide> nodes(static_cast<Eigen::Index>(texts.size()));
            for (std::size_t i = 0; i < texts.size(); ++i) {
              nodes(static_cast<Eigen::Index>(i)) = Wide(texts[i]);
            }
            return nodes;
          }};
}

std::optional<VandermondeStudy> study_vandermonde(const VandermondeOptions& options,
                                                  const std::filesystem::path& folder, const StudyHooks& hooks) {
  validate(options);
  VandermondeStudy study;
  study.options = options;
  std::sort(study.options.tau.begin(), study.options.tau.end(), std::greater<>());
  const StudyFolder kept(folder, {{"study", "vandermonde"},
                                  {"workers", options.shape.workers},
                                  {"chunks", options.shape.chunks},
                                  {"nodes", options.nodes.name}});
  const std::vector<double>& tau = study.options.tau;
  study.digits = digits_for(options.shape, tau.back());
  study.points.resize(tau.size());
  for (std::int64_t c = options.nodes.any_chunks ? options.shape.workers : options.shape.chunks;
       c <= options.shape.chunks; ++c) {
    for (const double value : tau) {
      study.map.push_back({c, value});
    }
  }
  const auto point = [&](std::size_t index) {
    if (index < tau.size()) {
      study.points[index] = compute_point(study.options, tau[index], study.digits);
    } else {
      VandermondeDecoding& place = study.map[index - tau.size()];
      place = decode(study.options, place.chunks, place.tau);
    }
    return true;
  };
  if (!run_points(tau.size() + study.map.size(), hooks, point)) {
    return std::nullopt;
  }
  expect_remainder(study);
  fit(study);
  return study;
}

}  // namespace cerar
