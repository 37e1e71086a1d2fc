#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace cerar {

/// A stretch of the vector on which one run of a protocol works: c chunks of `chunk_values` values, the last ones
/// padded with zeros where `length` is no multiple of c.
struct Slice {
  std::int64_t offset = 0;        ///< of its first value in the vector
  std::int64_t length = 0;        ///< values of the vector in it, > 0
  std::int64_t chunk_values = 0;  ///< p = ceil(length / c): values in every message of the slice

  friend bool operator==(const Slice&, const Slice&) = default;
};

/// Cuts every tensor in slices of `chunks` x `chunk_values` values and a shorter last one; no slice straddles two
/// tensors.
/// @param tensor_lengths  >= 0 each; together the vector
/// @param slices  becomes the slices that hold at least one value, in order of offset
void cut_slices(std::span<const std::int64_t> tensor_lengths, std::int64_t chunks, std::int64_t chunk_values,
                std::vector<Slice>& slices);
[[nodiscard]] std::vector<Slice> cut_slices(std::span<const std::int64_t> tensor_lengths, std::int64_t chunks,
                                            std::int64_t chunk_values);

/// measure(first value, count, p) of every chunk, whose first `count` values are the vector's and the rest padding,
/// slice after slice.
/// @param measured  becomes the slices.size() `chunks` numbers
template <class Measure>
void measure_chunks(std::span<const float> values, std::span<const Slice> slices, std::int64_t chunks,
                    const Measure& measure, std::vector<float>& measured) {
  measured.clear();
  measured.reserve(slices.size() * static_cast<std::size_t>(chunks));
  for (const Slice& slice : slices) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t first = std::min(chunk * slice.chunk_values, slice.length);
      const std::int64_t count = std::min(slice.chunk_values, slice.length - first);
      measured.push_back(measure(values.data() + slice.offset + first, count, slice.chunk_values));
    }
  }
}

/// The order in which the messages of all slices travel over a link: the same on every rank, so that none needs a
/// header.
///
/// W slots take the slices in turn, slot w slices w, w + W, ...; the link serves the slots round robin, one round of
/// their present slice each.
class MessageOrder {
 public:
  struct Message {
    std::int64_t slot = 0;
    std::int64_t slice = 0;
    std::int64_t round = 0;  ///< 1 .. L
  };

  /// @param slices, rounds, slots  S >= 0, L >= 0, W >= 1
  MessageOrder(std::int64_t slices, std::int64_t rounds, std::int64_t slots) noexcept
      : slices_(slices), rounds_(rounds), slots_(slots) {
    skip_absent();
  }

  /// Whether all S L messages have been passed.
  [[nodiscard]] bool at_end() const noexcept { return rounds_ == 0 || message_.slice - message_.slot >= slices_; }
  /// The present message; only while !at_end().
  [[nodiscard]] const Message& operator*() const noexcept { return message_; }
  [[nodiscard]] const Message* operator->() const noexcept { return &message_; }
  MessageOrder& operator++() noexcept;

 private:
  void advance() noexcept;
  void skip_absent() noexcept;

  std::int64_t slices_;
  std::int64_t rounds_;
  std::int64_t slots_;
  Message message_{0, 0, 1};
};

}  // namespace cerar
