#pragma once

#include "coding/matrix.h"
#include "collective/communicator.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cerar::bench {

/// Counts wrong results of an all-reduce of InputSet::integers: values that differ from what the algorithm must give by
/// more than rounding. For the exact and the naive ring that is the sum itself, to the bit. For a code it is its linear
/// map (coding/prediction.h), for the piggyback ring its reference, evaluated in double, within `kNoiseMargin` times
/// the noise predicted for the value's chunk: the code's own error does not count as wrong, anything else does. With
/// integer words a result must be the reference's to the bit.
class ResultCheck {
 public:
  /// Standard deviations of predicted noise within which a value counts as right. Rounding is coarser where a value's
  /// neighbours in the sums happen to be large, so its tail is no normal one: of a million values of a last-c code at
  /// (4, 12), 16 lie beyond 8 deviations and one beyond 12, ten times fewer for each further one.
  static constexpr double kNoiseMargin = 24;

  /// @param code  for Algorithm::coded and piggyback, else ignored
  /// @param sign  of the piggyback ring's d in the operation (piggyback_sign)
  ResultCheck(Algorithm algorithm, const std::optional<RingCode>& code, std::int64_t rank, std::int64_t workers,
              int sign = 1);

  /// @param result   this rank's whole result of one tensor
  /// @param slice_chunk_values  q, as the operation had it
  [[nodiscard]] std::int64_t count_wrong(std::span<const float> result, std::uint64_t seed,
                                         std::int64_t slice_chunk_values) const;

 private:
  [[nodiscard]] std::int64_t count_wrong_sums(std::span<const float> result, std::uint64_t seed) const;
  /// What this rank's result of a slice should be, p x c, from all workers' chunks.
  [[nodiscard]] Eigen::MatrixXd expected(const Matrices<double>& inputs) const;

  std::int64_t rank_;
  std::int64_t workers_;
  std::int64_t chunks_ = 0;  ///< c; 0 for the exact sum
  Eigen::MatrixXd map_;      ///< E_i, (N c) x c, of a shift code
  std::optional<PiggybackCode> piggyback_;
  int sign_ = 1;           ///< of the piggyback code's d
  Eigen::VectorXd noise_;  ///< standard deviation by chunk, for inputs of unit variance
};

/// ||result - sum||_2 / ||sum||_2 against the sum of InputSet::gradients of that correlation, formed in double.
[[nodiscard]] double relative_error(std::span<const float> result, std::uint64_t seed, std::int64_t workers,
                                    double correlation = 0);

/// The largest ||x_r - x_0|| / ||x_0|| over the ranks, x_r being rank r's `result`; gathered in blocks.
[[nodiscard]] double rank_divergence(Communicator& communicator, std::span<const float> result);

}  // namespace cerar::bench
