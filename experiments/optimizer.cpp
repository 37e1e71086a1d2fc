#include "experiments/optimizer.h"

#include <fmt/core.h>

#include <cmath>
#include <stdexcept>

namespace cerar {

std::string_view name(OptimizerKind kind) noexcept { return kind == OptimizerKind::sgd ? "sgd" : "adam"; }

OptimizerKind optimizer_from_name(std::string_view name) {
  if (name == "sgd") {
    return OptimizerKind::sgd;
  }
  if (name == "adam") {
    return OptimizerKind::adam;
  }
  throw std::invalid_argument(fmt::format("optimizer \"{}\" is unknown; known are sgd and adam", name));
}

double default_learning_rate(OptimizerKind kind) noexcept { return kind == OptimizerKind::sgd ? 0.2 : 0.001; }

Optimizer::Optimizer(OptimizerKind kind, std::int64_t parameters) : kind_(kind) {
  if (kind == OptimizerKind::adam) {
    first_moment_.assign(static_cast<std::size_t>(parameters), 0.0F);
    second_moment_.assign(static_cast<std::size_t>(parameters), 0.0F);
  }
}

void Optimizer::update(std::span<float> parameters, std::span<const float> gradient, double rate) {
  ++updates_;
  if (kind_ == OptimizerKind::sgd) {
    const auto factor = static_cast<float>(rate);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] -= factor * gradient[i];
    }
    return;
  }
  // m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, w -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
  constexpr float beta_1 = 0.9F;
  constexpr float beta_2 = 0.999F;
  constexpr float epsilon = 1e-8F;
  const auto t = static_cast<double>(updates_);
  const auto first = static_cast<float>(rate / (1 - std::pow(static_cast<double>(beta_1), t)));
  const auto second = static_cast<float>(1 / (1 - std::pow(static_cast<double>(beta_2), t)));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float g = gradient[i];
    first_moment_[i] = beta_1 * first_moment_[i] + (1 - beta_1) * g;
    second_moment_[i] = beta_2 * second_moment_[i] + (1 - beta_2) * g * g;
    parameters[i] -= first * first_moment_[i] / (std::sqrt(second * second_moment_[i]) + epsilon);
  }
}

}  // namespace cerar
