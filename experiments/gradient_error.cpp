#include "experiments/gradient_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace cerar {
namespace {

/// Squared norms of a tensor's true sum and of the difference from it.
struct SquaredNorms {
  double truth = 0;
  double difference = 0;
};

SquaredNorms compare(std::span<const float> reduced, std::span<const float> gradients, std::size_t first,
                     std::size_t length) {
  const std::size_t size = reduced.size();
  SquaredNorms norms;
  for (std::size_t i = first; i < first + length; ++i) {
    double truth = 0;
    for (std::size_t at = i; at < gradients.size(); at += size) {
      truth += static_cast<double>(gradients[at]);
    }
    const double difference = static_cast<double>(reduced[i]) - truth;
    norms.truth += truth * truth;
    norms.difference += difference * difference;
  }
  return norms;
}

double ratio(double difference, double truth) {
  if (difference == 0) {
    return 0;
  }
  return truth > 0 ? std::sqrt(difference / truth) : std::numeric_limits<double>::infinity();
}

}  // namespace

GradientError gradient_error(std::span<const float> reduced, std::span<const float> gradients,
                             std::span<const std::int64_t> tensor_lengths) {
  std::size_t total_length = 0;
  for (const std::int64_t length : tensor_lengths) {
    total_length += static_cast<std::size_t>(length);
  }
  if (total_length != reduced.size() || gradients.empty() != reduced.empty() ||
      (!reduced.empty() && gradients.size() % reduced.size() != 0)) {
    throw std::invalid_argument(fmt::format(
        "gradient_error: {} reduced values, {} gathered values and tensors of {} in all do not fit together",
        reduced.size(), gradients.size(), total_length));
  }
  std::vector<SquaredNorms> tensors;
  SquaredNorms whole;
  std::size_t first = 0;
  for (const std::int64_t length : tensor_lengths) {
    tensors.push_back(compare(reduced, gradients, first, static_cast<std::size_t>(length)));
    whole.truth += tensors.back().truth;
    whole.difference += tensors.back().difference;
    first += static_cast<std::size_t>(length);
  }
  GradientError error{ratio(whole.difference, whole.truth), 0};
  for (const SquaredNorms& tensor : tensors) {
    error.worst_tensor =
        std::max(error.worst_tensor, ratio(tensor.difference, tensor.truth > 0 ? tensor.truth : whole.truth));
  }
  return error;
}

double replica_divergence(std::span<const float> parameters, std::int64_t replicas) {
  if (replicas < 1 || parameters.size() % static_cast<std::size_t>(replicas) != 0) {
    throw std::invalid_argument(
        fmt::format("replica_divergence: {} values do not make {} equal replicas", parameters.size(), replicas));
  }
  const std::size_t size = parameters.size() / static_cast<std::size_t>(replicas);
  const auto first = parameters.first(size);
  double norm = 0;
  for (const float value : first) {
    norm += static_cast<double>(value) * static_cast<double>(value);
  }
  double worst = 0;
  for (std::size_t start = size; start < parameters.size(); start += size) {
    double distance = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double difference = static_cast<double>(parameters[start + i]) - static_cast<double>(first[i]);
      distance += difference * difference;
    }
    worst = std::max(worst, ratio(distance, norm));
  }
  return worst;
}

}  // namespace cerar
