#include "collective/buckets.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace cerar {

void Buckets::all_reduce(Operations& operations, std::span<const std::span<float>> tensors,
                         const AllReduceOptions& options) {
  if (!options.tensor_lengths.empty() || options.bucket_bytes < 1) {
    throw std::invalid_argument(
        fmt::format("{} tensor lengths and buckets of {} bytes: tensors have lengths of their own, and a bucket holds "
                    "at least a byte",
                    options.tensor_lengths.size(), options.bucket_bytes));
  }
  const auto room = static_cast<std::size_t>(options.bucket_bytes);
  while (!tensors.empty()) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < tensors.size() && bytes + tensors[count].size_bytes() <= room) {
      bytes += tensors[count++].size_bytes();
    }
    if (count > 1) {
      sum_packed(operations, tensors.first(count), options);
    } else {
      operations.all_reduce(tensors.front(), options);
      count = 1;
    }
    tensors = tensors.subspan(count);
  }
}

void Buckets::sum_packed(Operations& operations, std::span<const std::span<float>> tensors,
                         const AllReduceOptions& options) {
  packed_.clear();
  lengths_.clear();
  for (const std::span<float> tensor : tensors) {
    packed_.insert(packed_.end(), tensor.begin(), tensor.end());
    lengths_.push_back(static_cast<std::int64_t>(tensor.size()));
  }
  AllReduceOptions packed = options;
  packed.tensor_lengths = lengths_;
  operations.all_reduce(packed_, packed);
  auto sum = packed_.begin();
  for (const std::span<float> tensor : tensors) {
    std::copy_n(sum, tensor.size(), tensor.begin());
    sum += static_cast<std::ptrdiff_t>(tensor.size());
  }
}

}  // namespace cerar
