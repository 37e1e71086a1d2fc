#include "experiments/study/conditioning_point.h"

#include "coding/conditioning.h"
#include "coding/error.h"
#include "coding/received.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cerar {
namespace {

constexpr int limit_digits = 60;
constexpr int guard_digits = 16;
constexpr double singular_below = 1e-40;  // of || K ||: 20 digits above rounding, far below any drawn matrix

std::vector<double> to_doubles(const Vector<Wide>& values) {
  std::vector<double> result;
  for (const Wide& value : values) {
    result.push_back(static_cast<double>(value));
  }
  return result;
}

/// M_i with row blocks that are equal merged into one, times the root of their number: the singular values stay. In a
/// multiplicative perturbation all workers whose index has wrapped have one block and the others another, and of N - 1
/// blocks two are left, which most of the time would go into otherwise.
Matrix<Wide> merge_equal_blocks(const Matrix<Wide>& received, std::int64_t block_rows) {
  std::vector<Eigen::Index> firsts;
  std::vector<int> counts;
  for (Eigen::Index row = 0; row < received.rows(); row += block_rows) {
    const auto block = received.middleRows(row, block_rows);
    const auto equal = std::find_if(firsts.begin(), firsts.end(), [&](Eigen::Index first) {
      return received.middleRows(first, block_rows) == block;
    });
    if (equal != firsts.end()) {
      ++counts[static_cast<std::size_t>(equal - firsts.begin())];
    } else if (!block.isZero(Wide(0))) {
      firsts.push_back(row);
      counts.push_back(1);
    }
  }
  Matrix<Wide> merged(static_cast<Eigen::Index>(firsts.size()) * block_rows, received.cols());
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    merged.middleRows(static_cast<Eigen::Index>(i) * block_rows, block_rows) =
        sqrt(Wide(counts[i])) * received.middleRows(firsts[i], block_rows);
  }
  return merged;
}

/// Every figure of one window in the precision of the thread.
struct WideFigures {
  Matrix<Wide> window;
  Vector<Wide> values;
  Vector<Wide> stacked;
  Vector<Wide> core;  ///< || K ||, sigma_min(K), || K - K^(l) ||
  Wide residual;
};

WideFigures wide_figures(const WindowSource& source, std::uint64_t seed, double eps_value, std::int64_t l) {
  const WindowFamily<Wide> family = source.family(seed);
  const Wide eps(eps_value);
  WideFigures figures;
  figures.window = family.window(eps, l);
  figures.values = singular_values_jacobi(figures.window);
  figures.stacked = singular_values_jacobi(merge_equal_blocks(
      received_matrix(family.encoders(eps), Decoder::own_exact, l, family.first_kept_round), source.shape.chunks));
  Matrix<Wide> core = family.core(eps, l);
  const Vector<Wide> core_values = singular_values_jacobi(core);
  figures.core.resize(3);
  figures.core << core_values(0), core_values(core_values.size() - 1), (core - family.core(Wide(0), l)).norm();
  for (Eigen::Index row = 0; row < core.rows(); ++row) {
    core.row(row) *= Wide(pow(eps, static_cast<int>(family.powers[static_cast<std::size_t>(row)])));
  }
  figures.residual =
      (figures.window - family.inverse_difference * core).cwiseAbs().maxCoeff() / figures.window.cwiseAbs().maxCoeff();
  return figures;
}

/// The largest relative change of `figures` against `better`.
double largest_change(const Vector<Wide>& figures, const Vector<Wide>& better) {
  double largest = 0;
  for (Eigen::Index i = 0; i < figures.size(); ++i) {
    if (figures(i) != better(i)) {
      largest = std::max(largest, static_cast<double>(Wide(abs(Wide(figures(i) - better(i)) / better(i)))));
    }
  }
  return largest;
}

nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

double number_or_infinity(const nlohmann::ordered_json& json) {
  return json.is_null() ? std::numeric_limits<double>::infinity() : json.get<double>();
}

}  // namespace

double ConditioningLimit::condition_constant() const {
  const double largest = *std::max_element(norm.begin(), norm.end());
  return difference_norm * inverse_norm * largest / gamma[static_cast<std::size_t>(worst_window())];
}

std::int64_t ConditioningLimit::worst_window() const {
  return std::min_element(gamma.begin(), gamma.end()) - gamma.begin();
}

ConditioningLimit conditioning_limit(const WindowSource& source, std::uint64_t seed) {
  const PrecisionScope scope(limit_digits);
  const WindowFamily<Wide> family = source.family(seed);
  ConditioningLimit limit;
  limit.powers = family.powers;
  limit.stacked_powers = family.stacked_powers;
  limit.direction_norm = static_cast<double>(family.direction_norm);
  limit.difference_norm = static_cast<double>(singular_values_jacobi(family.difference)(0));
  limit.inverse_norm = static_cast<double>(singular_values_jacobi(family.inverse_difference)(0));
  for (std::int64_t l = 0; l < source.shape.workers; ++l) {
    const Matrix<Wide> core = family.core(Wide(0), l);
    const Vector<Wide> values = singular_values_jacobi(core);
    limit.norm.push_back(static_cast<double>(values(0)));
    limit.gamma.push_back(static_cast<double>(values(values.size() - 1)));
    if (!(limit.gamma.back() > singular_below * limit.norm.back())) {
      throw Error(
          fmt::format("K^({}), the limit of window l = {}, is singular (gamma = {:.2g}, its norm {:.2g}){}: the "
                      "theorem assumes that "
                      "no K^(l) is; take another {}",
                      l, l, limit.gamma.back(), limit.norm.back(),
                      source.seeded ? fmt::format(" for seed {}", seed) : "", source.seeded ? "--seed" : "B or H"));
    }
    limit.constants.push_back(to_doubles(level_constants<Wide>(family.inverse_difference, family.powers, core)));
  }
  return limit;
}

int needed_digits(const ConditioningLimit& limit, double eps) {
  // At least one power of eps: K_l(eps) - K^(l) = O(eps) cancels that much.
  const auto power = static_cast<double>(std::max<std::int64_t>(1, limit.powers.back()));
  const double lost = std::log10(limit.condition_constant()) + power * std::log10(1 / eps);
  return static_cast<int>(std::ceil(lost)) + guard_digits;
}

ConditioningPoint conditioning_point(const WindowSource& source, std::uint64_t seed, double eps, std::int64_t l,
                                     int digits) {
  const auto figures_at = [&](int precision) {
    const PrecisionScope scope(precision);
    return wide_figures(source, seed, eps, l);
  };
  const WideFigures figures = figures_at(digits);
  const WideFigures better = figures_at(2 * digits);
  const double change =
      std::max({largest_change(figures.values, better.values), largest_change(figures.stacked, better.stacked),
                largest_change(figures.core, better.core)});
  if (!(change <= kAgreement)) {
    throw Error(fmt::format(
        "at eps = {} and window {} a figure changes by {:.1g} of its value when {} digits become {}; at most {} is "
        "allowed; give more --digits",
        eps, l, change, digits, 2 * digits, kAgreement));
  }
  ConditioningPoint point;
  point.values = to_doubles(figures.values);
  point.stacked = to_doubles(figures.stacked);
  point.core_norm = static_cast<double>(figures.core(0));
  point.core_gamma = static_cast<double>(figures.core(1));
  point.core_change = static_cast<double>(figures.core(2));
  point.residual = static_cast<double>(figures.residual);
  point.kappa_double = kappa2(figures.window.cast<double>());
  const Vector<long double> narrow = singular_values_jacobi<long double>(figures.window.cast<long double>());
  point.kappa_long_double = static_cast<double>(narrow(0) / narrow(narrow.size() - 1));
  return point;
}

nlohmann::ordered_json to_json(const ConditioningPoint& point) {
  return {{"values", point.values},
          {"stacked", point.stacked},
          {"core_norm", point.core_norm},
          {"core_gamma", point.core_gamma},
          {"core_change", point.core_change},
          {"residual", point.residual},
          {"kappa_double", number_or_null(point.kappa_double)},
          {"kappa_long_double", number_or_null(point.kappa_long_double)}};
}

ConditioningPoint conditioning_point_from(const nlohmann::ordered_json& json) {
  ConditioningPoint point;
  point.values = json.at("values").get<std::vector<double>>();
  point.stacked = json.at("stacked").get<std::vector<double>>();
  point.core_norm = json.at("core_norm").get<double>();
  point.core_gamma = json.at("core_gamma").get<double>();
  point.core_change = json.at("core_change").get<double>();
  point.residual = json.at("residual").get<double>();
  point.kappa_double = number_or_infinity(json.at("kappa_double"));
  point.kappa_long_double = number_or_infinity(json.at("kappa_long_double"));
  return point;
}

}  // namespace cerar
