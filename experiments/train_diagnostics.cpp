#include "experiments/train_diagnostics.h"

#include "experiments/gradient_error.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cerar {

TrainDiagnostics::TrainDiagnostics(Communicator& communicator, std::vector<std::int64_t> tensor_lengths)
    : communicator_(communicator), tensor_lengths_(std::move(tensor_lengths)), covariance_(communicator.size()) {}

std::span<const float> TrainDiagnostics::gather(std::span<const float> mine) {
  gathered_.resize(mine.size() * static_cast<std::size_t>(communicator_.size()));
  communicator_.all_gather(mine, gathered_);
  return gathered_;
}

void TrainDiagnostics::remember_gradient(std::span<const float> gradient) {
  gradient_.assign(gradient.begin(), gradient.end());
}

void TrainDiagnostics::measure_gradient(std::span<const float> reduced) {
  const std::span<const float> gradients = gather(gradient_);
  covariance_.add(gradients);
  const GradientError error = gradient_error(reduced, gradients, tensor_lengths_);
  facts_.gradient_error = error.total;
  facts_.gradient_error_worst_layer = error.worst_tensor;
}

void TrainDiagnostics::measure_replicas(std::span<const float> parameters) {
  facts_.replica_divergence = replica_divergence(gather(parameters), communicator_.size());
}

SharedFacts TrainDiagnostics::exchange(double loss, bool stop) {
  const std::array<float, 4> mine{static_cast<float>(loss), stop ? 1.0F : 0.0F,
                                  static_cast<float>(facts_.gradient_error.value_or(0)),
                                  static_cast<float>(facts_.gradient_error_worst_layer.value_or(0))};
  std::vector<float> all(mine.size() * static_cast<std::size_t>(communicator_.size()));
  communicator_.all_gather(mine, all);

  SharedFacts shared = std::exchange(facts_, {});
  if (shared.gradient_error) {  // only what has travelled counts, so that all ranks end up with the same numbers
    shared.gradient_error = 0;
    shared.gradient_error_worst_layer = 0;
  }
  for (std::size_t at = 0; at < all.size(); at += mine.size()) {
    shared.mean_loss += static_cast<double>(all[at]) / static_cast<double>(communicator_.size());
    shared.stop = shared.stop || all[at + 1] != 0;
    if (shared.gradient_error) {
      shared.gradient_error = std::max(*shared.gradient_error, static_cast<double>(all[at + 2]));
      shared.gradient_error_worst_layer =
          std::max(*shared.gradient_error_worst_layer, static_cast<double>(all[at + 3]));
    }
  }
  return shared;
}

}  // namespace cerar
