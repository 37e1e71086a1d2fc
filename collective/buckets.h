#pragma once

#include "collective/communicator.h"
#include "collective/operations.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cerar {

/// Sums many tensors with few operations: consecutive small ones are copied together, summed and copied back.
class Buckets {
 public:
  /// See Communicator::all_reduce for many tensors.
  void all_reduce(Operations& operations, std::span<const std::span<float>> tensors, const AllReduceOptions& options);

 private:
  void sum_packed(Operations& operations, std::span<const std::span<float>> tensors, const AllReduceOptions& options);

  std::vector<float> packed_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace cerar
