#include "coding/atomic_file.h"
#include "experiments/study/conditioning.h"
#include "experiments/study/conditioning_plot.h"
#include "experiments/text_table.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace cerar {
namespace {

constexpr std::size_t eps_rows = 12;

std::string singular_values_csv(const ConditioningStudy& study) {
  std::string csv = "seed,eps,matrix,index,k,power,value,lower,upper\n";
  for (const SeedConditioning& seed : study.seeds) {
    const ConditioningLimit& limit = seed.limit;
    for (std::size_t e = 0; e < seed.eps.size(); ++e) {
      for (std::size_t l = 0; l < seed.points[e].size(); ++l) {
        const ConditioningPoint& point = seed.points[e][l];
        for (std::size_t k = 0; k < point.values.size(); ++k) {
          const double level = std::pow(seed.eps[e], static_cast<double>(limit.powers[k]));
          csv += fmt::format("{},{},A,{},{},{},{},{},{}\n", seed.seed, seed.eps[e], l, k, limit.powers[k],
                             point.values[k], level * point.core_gamma / limit.difference_norm,
                             level * point.core_norm * limit.inverse_norm);
        }
        for (std::size_t k = 0; k < point.stacked.size(); ++k) {
          csv += fmt::format("{},{},M,{},{},{},{},,\n", seed.seed, seed.eps[e], l, k, limit.stacked_powers[k],
                             point.stacked[k]);
        }
      }
    }
  }
  return csv;
}

/// An infinite condition number is an empty cell.
std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

std::string kappa_csv(const ConditioningStudy& study) {
  std::string csv = "seed,eps,matrix,index,kappa,kappa_double,kappa_long_double\n";
  for (const SeedConditioning& seed : study.seeds) {
    for (std::size_t e = 0; e < seed.eps.size(); ++e) {
      for (std::size_t l = 0; l < seed.points[e].size(); ++l) {
        const ConditioningPoint& point = seed.points[e][l];
        csv += fmt::format("{},{},A,{},{},{},{}\n", seed.seed, seed.eps[e], l, point.kappa(), cell(point.kappa_double),
                           cell(point.kappa_long_double));
        csv += fmt::format("{},{},M,{},{},,\n", seed.seed, seed.eps[e], l, point.stacked_kappa());
      }
    }
  }
  return csv;
}

std::string slopes_csv(const ConditioningStudy& study) {
  std::string csv = "seed,matrix,index,k,power,slope,slope_error,constant,theory_constant\n";
  for (const SeedConditioning& seed : study.seeds) {
    for (std::size_t l = 0; l < seed.window_fits.size(); ++l) {
      for (std::size_t k = 0; k < seed.window_fits[l].size(); ++k) {
        const LogLogFit& fit = seed.window_fits[l][k];
        csv += fmt::format("{},A,{},{},{},{},{},{},{}\n", seed.seed, l, k, seed.limit.powers[k], fit.slope,
                           fit.slope_error, fit.constant, seed.limit.constants[l][k]);
      }
      for (std::size_t k = 0; k < seed.stacked_fits[l].size(); ++k) {
        const LogLogFit& fit = seed.stacked_fits[l][k];
        csv += fmt::format("{},M,{},{},{},{},{},{},\n", seed.seed, l, k, seed.limit.stacked_powers[k], fit.slope,
                           fit.slope_error, fit.constant);
      }
    }
  }
  return csv;
}

nlohmann::ordered_json seed_summary(const SeedConditioning& seed) {
  const ConditioningLimit& limit = seed.limit;
  const std::int64_t worst = limit.worst_window();
  nlohmann::ordered_json json = {
      {"seed", seed.seed},
      {"counts_per_power", seed.counts},
      {"theorem_counts_per_power", seed.expected_counts},
      {"kappa_slope", seed.kappa.slope},
      {"kappa_slope_error", seed.kappa.slope_error},
      {"kappa_slope_stacked", seed.stacked_kappa.slope},
      {"kappa_slope_stacked_error", seed.stacked_kappa.slope_error},
      {"gamma", limit.gamma[static_cast<std::size_t>(worst)]},
      {"gamma_window", worst},
      {"digits", seed.digits},
      {"factorisation_residual", seed.residual},
      {"core_rate", seed.core_change ? nlohmann::ordered_json(seed.core_change->slope) : nullptr},
      {"level_constant_error", seed.constant_error},
      {"bounds_hold", seed.bounds_hold},
      {"stacked_constant", seed.stacked_constant},
      {"stacked_constant_bound", seed.stacked_bound},
      {"verdict", name(seed.verdict)},
      {"reason", seed.reason}};
  return json;
}

/// Without the sign that rounding leaves on a zero.
std::string six_places(double value) { return fmt::format("{:.6f}", std::abs(value) < 5e-7 ? 0.0 : value); }

/// Range of the slopes, and of the constants, of one power's singular values over all windows.
void add_power_row(TextTable& table, const SeedConditioning& seed, std::int64_t power) {
  double slope[2] = {INFINITY, -INFINITY};
  double constant[2] = {INFINITY, -INFINITY};
  double error = 0;
  for (std::size_t l = 0; l < seed.window_fits.size(); ++l) {
    for (std::size_t k = 0; k < seed.window_fits[l].size(); ++k) {
      if (seed.limit.powers[k] == power) {
        const LogLogFit& fit = seed.window_fits[l][k];
        slope[0] = std::min(slope[0], fit.slope);
        slope[1] = std::max(slope[1], fit.slope);
        error = std::max(error, fit.slope_error);
        constant[0] = std::min(constant[0], seed.limit.constants[l][k]);
        constant[1] = std::max(constant[1], seed.limit.constants[l][k]);
      }
    }
  }
  const auto place = static_cast<std::size_t>(power);
  table.add_row({fmt::format("eps^{}", power), std::to_string(seed.counts[place]),
                 std::to_string(seed.expected_counts[place]),
                 fmt::format("{} .. {}", six_places(slope[0]), six_places(slope[1])), fmt::format("{:.1e}", error),
                 fmt::format("{:.3g} .. {:.3g}", constant[0], constant[1])});
}

std::string eps_table(const SeedConditioning& seed) {
  TextTable table;
  table.add_row({"eps", "largest kappa_2(A_l)", "long double", "double", "largest kappa_2(M_i)", "||K_l - K^(l)||"});
  table.add_rule();
  const std::size_t rows = std::min(seed.eps.size(), eps_rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t e = rows == 1 ? 0 : row * (seed.eps.size() - 1) / (rows - 1);
    double kappa[5] = {};
    for (const ConditioningPoint& point : seed.points[e]) {
      kappa[0] = std::max(kappa[0], point.kappa());
      kappa[1] = std::max(kappa[1], point.kappa_long_double);
      kappa[2] = std::max(kappa[2], point.kappa_double);
      kappa[3] = std::max(kappa[3], point.stacked_kappa());
      kappa[4] = std::max(kappa[4], point.core_change);
    }
    table.add_row({fmt::format("{:.3e}", seed.eps[e]), fmt::format("{:.6e}", kappa[0]), fmt::format("{:.6e}", kappa[1]),
                   fmt::format("{:.6e}", kappa[2]), fmt::format("{:.6e}", kappa[3]), fmt::format("{:.3e}", kappa[4])});
  }
  return table.text();
}

std::string one_seed(const SeedConditioning& seed) {
  const ConditioningLimit& limit = seed.limit;
  TextTable powers;
  powers.add_row({"", "singular values", "theorem", "slope, all windows", "its error", "theory's constant"});
  powers.add_rule();
  for (std::int64_t power = 0; power <= limit.powers.back(); ++power) {
    add_power_row(powers, seed, power);
  }
  TextTable facts;
  const std::int64_t worst = limit.worst_window();
  facts.add_row({"kappa_2(A_l) slope", fmt::format("{:.6f} +- {:.1e}", seed.kappa.slope, seed.kappa.slope_error),
                 fmt::format("theorem {}", -limit.powers.back())});
  facts.add_row({"kappa_2(M_i) slope",
                 fmt::format("{:.6f} +- {:.1e}", seed.stacked_kappa.slope, seed.stacked_kappa.slope_error),
                 fmt::format("theorem {}", -limit.powers.back())});
  facts.add_row({"kappa_2(M_i) <= C sqrt(N) eps^-r*", fmt::format("C seen {:.4g}", seed.stacked_constant),
                 fmt::format("bound {:.4g}", seed.stacked_bound)});
  facts.add_row({"gamma = min sigma_min(K^(l))", fmt::format("{:.6g}", limit.gamma[static_cast<std::size_t>(worst)]),
                 fmt::format("at l = {}", worst)});
  facts.add_row({"two-sided bounds", seed.bounds_hold ? "hold" : "VIOLATED", "at every eps"});
  facts.add_row({"level constants at the least eps", fmt::format("{:.1e} off", seed.constant_error), ""});
  if (seed.core_change) {
    facts.add_row({"K_l -> K^(l) at rate eps^", fmt::format("{:.6f}", seed.core_change->slope), "theorem 1"});
  }
  facts.add_row({"A - Delta^-1 Lambda K", fmt::format("{:.1e} of A", seed.residual),
                 fmt::format("{} digits, confirmed at {}", seed.digits, 2 * seed.digits)});
  return fmt::format("{}\n{}\n{}\nverdict: {} ({})\n", powers.text(), facts.text(), eps_table(seed), name(seed.verdict),
                     seed.reason);
}

std::string many_seeds(const ConditioningStudy& study) {
  TextTable table;
  table.add_row({"seed", "gamma", "counts per power", "kappa_2(A_l) slope", "kappa_2(M_i) slope", "C seen", "C bound",
                 "digits", "verdict"});
  table.add_rule();
  std::string reasons;
  for (const SeedConditioning& seed : study.seeds) {
    const ConditioningLimit& limit = seed.limit;
    table.add_row(
        {std::to_string(seed.seed), fmt::format("{:.3g}", limit.gamma[static_cast<std::size_t>(limit.worst_window())]),
         fmt::format("{}", fmt::join(seed.counts, " ")), fmt::format("{:.6f}", seed.kappa.slope),
         fmt::format("{:.6f}", seed.stacked_kappa.slope), fmt::format("{:.3g}", seed.stacked_constant),
         fmt::format("{:.3g}", seed.stacked_bound), std::to_string(seed.digits), std::string(name(seed.verdict))});
    if (seed.verdict != Verdict::holds) {
      reasons += fmt::format("seed {}: {}\n", seed.seed, seed.reason);
    }
  }
  return fmt::format("{}{}verdict: {}\n", table.text(), reasons, name(study.verdict()));
}

}  // namespace

nlohmann::ordered_json conditioning_summary(const ConditioningStudy& study) {
  const auto& source = study.options.source;
  nlohmann::ordered_json json = {{"study", "conditioning"},
                                 {"construction", source.name},
                                 {"workers", source.shape.workers},
                                 {"chunks", source.shape.chunks},
                                 {"conditioning_exponent", study.seeds.front().limit.powers.back()},
                                 {"eps", study.seeds.front().eps}};
  // Of the seed that fares worst; each seed's own figures follow.
  const auto worst = std::max_element(study.seeds.begin(), study.seeds.end(),
                                      [](const auto& one, const auto& other) { return one.verdict < other.verdict; });
  json.update(seed_summary(*worst));
  json["seeds"] = nlohmann::ordered_json::array();
  for (const SeedConditioning& seed : study.seeds) {
    json["seeds"].push_back(seed_summary(seed));
  }
  return json;
}

std::string conditioning_table(const ConditioningStudy& study) {
  return study.seeds.size() == 1 ? one_seed(study.seeds.front()) : many_seeds(study);
}

void write_conditioning(const ConditioningStudy& study, const std::filesystem::path& folder) {
  write_file_atomically(folder / "singular_values.csv", singular_values_csv(study));
  write_file_atomically(folder / "kappa.csv", kappa_csv(study));
  write_file_atomically(folder / "slopes.csv", slopes_csv(study));
  write_file_atomically(folder / "summary.json", conditioning_summary(study).dump(2) + "\n");
  plot_singular_values(study, folder / "singular_values.png");
  plot_kappa(study, folder / "kappa.png");
}

}  // namespace cerar
