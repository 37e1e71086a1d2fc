#pragma once

#include "collective/slices.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace cerar {

/// A slice as c whole chunks of p values: the caller's own memory where the slice fills them, else a copy padded with
/// zeros.
class SliceView {
 public:
  explicit SliceView(std::int64_t chunks) : chunks_(chunks) {}

  /// @param values  the whole vector
  void open(std::span<float> values, const Slice& slice) {
    slice_ = slice;
    original_ = values.data() + slice.offset;
    const std::int64_t padded = chunks_ * slice.chunk_values;
    if (slice.length == padded) {
      data_ = original_;
      return;
    }
    padded_.assign(static_cast<std::size_t>(padded), 0.0F);
    std::copy_n(original_, slice.length, padded_.data());
    data_ = padded_.data();
  }

  /// Puts a padded copy back; in place there is nothing to do.
  void close() {
    if (data_ == padded_.data()) {
      std::copy_n(padded_.data(), slice_.length, original_);
    }
  }

  [[nodiscard]] std::span<float> chunk(std::int64_t index) const noexcept {
    return {data_ + index * slice_.chunk_values, static_cast<std::size_t>(slice_.chunk_values)};
  }
  [[nodiscard]] std::size_t chunk_values() const noexcept { return static_cast<std::size_t>(slice_.chunk_values); }
  [[nodiscard]] std::int64_t memory_bytes() const noexcept {
    return static_cast<std::int64_t>(padded_.capacity() * sizeof(float));
  }

 private:
  std::int64_t chunks_;
  Slice slice_;
  float* original_ = nullptr;
  float* data_ = nullptr;
  std::vector<float> padded_;
};

}  // namespace cerar
