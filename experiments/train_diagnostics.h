#pragma once

#include "collective/communicator.h"
#include "experiments/gradient_covariance.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cerar {

/// What all ranks know of a step after they have told each other.
struct SharedFacts {
  double mean_loss = 0;
  bool stop = false;  ///< some rank was asked to stop
  std::optional<double> gradient_error;
  std::optional<double> gradient_error_worst_layer;
  std::optional<double> replica_divergence;
};

/// The measurements of one training step, made by gathering what the ranks have. All ranks must call the same members
/// at the same steps. Costs N gradients of memory from the first measurement on.
class TrainDiagnostics {
 public:
  /// Keeps a reference to `communicator`.
  TrainDiagnostics(Communicator& communicator, std::vector<std::int64_t> tensor_lengths);

  /// Copies this rank's gradient before the all-reduce overwrites it.
  void remember_gradient(std::span<const float> gradient);

  /// Compares the all-reduce's result with the true sum of what was remembered, and adds that to the covariance.
  void measure_gradient(std::span<const float> reduced);

  void measure_replicas(std::span<const float> parameters);

  /// Ends a step: mean loss, largest errors (where measured since the last call), and whether anyone wants to stop.
  SharedFacts exchange(double loss, bool stop);

  /// Of all gradients measured so far; the same on every rank.
  [[nodiscard]] const GradientCovariance& covariance() const noexcept { return covariance_; }

 private:
  std::span<const float> gather(std::span<const float> mine);

  Communicator& communicator_;
  std::vector<std::int64_t> tensor_lengths_;
  std::vector<float> gradient_;
  std::vector<float> gathered_;
  GradientCovariance covariance_;
  SharedFacts facts_;  // of this rank, not yet exchanged
};

}  // namespace cerar
