#pragma once

#include "coding/piggyback.h"
#include "collective/slice_executor.h"

#include <memory>
#include <span>
#include <vector>

namespace cerar {

/// What the ranks agree on before an operation with int32 words: the rms of every chunk of every rank.
struct IntegerPlan {
  std::span<const Slice> slices;  ///< S slices of the operation
  std::span<const float> rms;     ///< rank w's chunk j of slice s is number (w S + s) c + j; see chunk_rms
  int sign = 1;                   ///< +1 or -1, of d
};

/// The int32 form of the piggyback ring; agrees to the bit with piggyback_integer_reference. `code` and `plan`,
/// which is read at every begin(), outlive it. Messages are one word longer than a chunk. Its begin() and received()
/// throw std::overflow_error, naming the slice, where the sums are beyond kIntegerSumLimit.
[[nodiscard]] std::unique_ptr<SliceExecutor> make_piggyback_integer_executor(const SliceContext& context,
                                                                             const PiggybackCode& code,
                                                                             const IntegerPlan& plan);

}  // namespace cerar
