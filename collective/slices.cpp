#include "collective/slices.h"

#include <algorithm>

namespace cerar {

void cut_slices(std::span<const std::int64_t> tensor_lengths, std::int64_t chunks, std::int64_t chunk_values,
                std::vector<Slice>& slices) {
  slices.clear();
  std::int64_t offset = 0;
  for (const std::int64_t tensor : tensor_lengths) {
    for (std::int64_t done = 0; done < tensor;) {
      const std::int64_t length = std::min(tensor - done, chunks * chunk_values);
      slices.push_back({offset + done, length, (length + chunks - 1) / chunks});
      done += length;
    }
    offset += tensor;
  }
}

std::vector<Slice> cut_slices(std::span<const std::int64_t> tensor_lengths, std::int64_t chunks,
                              std::int64_t chunk_values) {
  std::vector<Slice> slices;
  cut_slices(tensor_lengths, chunks, chunk_values, slices);
  return slices;
}

MessageOrder& MessageOrder::operator++() noexcept {
  advance();
  skip_absent();
  return *this;
}

void MessageOrder::advance() noexcept {
  const std::int64_t turn = message_.slice - message_.slot;  // slices taken by earlier turns of all slots
  if (message_.slot + 1 < slots_) {
    ++message_.slot;
    ++message_.slice;
  } else if (message_.round < rounds_) {
    message_ = {0, turn, message_.round + 1};
  } else {
    message_ = {0, turn + slots_, 1};
  }
}

void MessageOrder::skip_absent() noexcept {
  while (!at_end() && message_.slice >= slices_) {
    advance();
  }
}

}  // namespace cerar
