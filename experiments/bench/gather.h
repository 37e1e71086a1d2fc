#pragma once

#include "collective/communicator.h"

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace cerar::bench {

/// Every rank's `mine`, in rank order; a collective. Travels as its bytes.
template <class T>
[[nodiscard]] std::vector<T> gather(Communicator& communicator, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(float) == 0);
  constexpr std::size_t kWords = sizeof(T) / sizeof(float);
  std::vector<float> words(kWords);
  std::memcpy(words.data(), &mine, sizeof(T));
  std::vector<float> all(kWords * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(words, all);
  std::vector<T> gathered(static_cast<std::size_t>(communicator.size()));
  std::memcpy(static_cast<void*>(gathered.data()), all.data(), all.size() * sizeof(float));
  return gathered;
}

}  // namespace cerar::bench
