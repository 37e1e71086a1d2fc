#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cerar {

enum class OptimizerKind {
  sgd,   ///< w -= rate g
  adam,  ///< Kingma and Ba (2015), algorithm 1, with beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-8
};

[[nodiscard]] std::string_view name(OptimizerKind kind) noexcept;

/// @throws std::invalid_argument listing the known names
[[nodiscard]] OptimizerKind optimizer_from_name(std::string_view name);

/// What `cerar train` uses where no rate is given: 0.2 for sgd, 0.001 for adam. Chosen by trying on 256 images a step.
[[nodiscard]] double default_learning_rate(OptimizerKind kind) noexcept;

/// Updates a parameter vector in place, element by element: equal inputs give equal bits on every worker.
class Optimizer {
 public:
  Optimizer(OptimizerKind kind, std::int64_t parameters);

  /// @param gradient  as long as parameters
  /// @param rate      learning rate of this step
  void update(std::span<float> parameters, std::span<const float> gradient, double rate);

 private:
  OptimizerKind kind_;
  std::int64_t updates_ = 0;
  std::vector<float> first_moment_;  // of adam; empty for sgd
  std::vector<float> second_moment_;
};

}  // namespace cerar
