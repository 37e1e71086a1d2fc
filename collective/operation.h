#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cerar {

/// What a rank is about to do, as 64-bit little-endian words: the header that opens every operation on a link, so that
/// ranks which disagree find out before a single value is summed.
struct OperationHeader {
  enum class Kind : std::uint64_t {
    all_reduce_exact = 1,
    all_reduce_naive,
    all_reduce_coded,
    all_gather,
    all_reduce_piggyback,
    piggyback_scales,
    all_reduce_doubling,
    barrier,
    pair_addresses
  };
  static constexpr std::size_t kKinds = 10;  ///< one more than the last Kind

  std::uint64_t magic = 0x43455241526f7031;  ///< "CERARop1"
  std::uint64_t sequence = 0;                ///< operations begun on this communicator before this one
  Kind kind = Kind::all_reduce_exact;
  std::uint64_t values = 0;     ///< in the vector
  std::uint64_t code_hash = 0;  ///< of the code in use, 0 for none
  std::uint64_t plan_hash = 0;  ///< of slices and slots: the order of messages must be the same

  friend bool operator==(const OperationHeader&, const OperationHeader&) = default;
};

/// "all_reduce (coded)"
[[nodiscard]] std::string_view name(OperationHeader::Kind kind) noexcept;

/// "operation 5, all_reduce (coded) of 1000 values"
[[nodiscard]] std::string to_string(const OperationHeader& header);

/// What differs between two headers, as one sentence that names both ranks and both values.
[[nodiscard]] std::string describe_difference(const OperationHeader& mine, std::int64_t my_rank,
                                              const OperationHeader& theirs, std::int64_t their_rank);

}  // namespace cerar
