#pragma once

#include "collective/communicator.h"
#include "collective/link.h"
#include "collective/piggyback_integer_executor.h"
#include "collective/pipeline.h"
#include "collective/recorder.h"
#include "collective/slice_executor.h"
#include "collective/slices.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cerar {

/// A rank's collectives, one after the other, and what they keep for the next one: connections, executors, plans.
/// Nothing is allocated once an operation of each kind and size has run.
class Operations {
 public:
  /// Meets the other ranks; throws as Communicator's constructor does.
  explicit Operations(CommunicatorOptions options);
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;
  ~Operations();

  /// @throws std::invalid_argument for options that are wrong on their face, before anything is done
  void require_valid(std::span<const float> values, const AllReduceOptions& options) const;

  void all_reduce(std::span<float> values, const AllReduceOptions& options);
  void all_gather(std::span<const float> mine, std::span<float> all);
  void barrier();

  [[nodiscard]] const CommunicatorOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Statistics& statistics() const noexcept { return statistics_; }
  [[nodiscard]] Recorder& recorder() noexcept { return recorder_; }
  [[nodiscard]] const Recorder& recorder() const noexcept { return recorder_; }

 private:
  using Kind = OperationHeader::Kind;

  /// Executors of one kind, for slices whose chunks hold up to `longest_message` values.
  struct ExecutorSet {
    std::int64_t longest_message = -1;
    std::vector<PipelineSlot> slots;
  };

  [[nodiscard]] Algorithm algorithm_for(std::span<const float> values, const AllReduceOptions& options);
  [[nodiscard]] bool prefers_doubling(std::int64_t bytes);
  void measure_switch_over();
  [[nodiscard]] double fastest(Kind kind, std::span<float> values);

  void piggyback(std::span<float> values, const AllReduceOptions& options, int sign);
  void agree_on_rms(std::span<float> values, const AllReduceOptions& options);
  void double_up(Kind kind, std::span<float> values, std::uint64_t plan_hash);
  void connect_pairs_once();

  void require_finite(std::span<const float> values, Kind kind);
  void require_finite(std::span<const float> values, std::span<const float> measured);
  [[noreturn]] void report_nonfinite(std::span<const float> values, std::size_t bad, Kind kind);

  template <class MakeExecutor>
  void run_ring(Kind kind, std::span<float> values, std::int64_t chunks, const AllReduceOptions& options,
                MakeExecutor make_executor);
  template <class MakeExecutor>
  void transfer(Kind kind, const PipelineData& data, const AllReduceOptions& options, MakeExecutor make_executor,
                std::size_t held_bytes = 0);
  template <class MakeExecutor>
  std::span<PipelineSlot> slots_for(Kind kind, std::span<const Slice> slices, std::int64_t slices_in_flight,
                                    MakeExecutor make_executor);
  void cut(std::span<const float> values, std::int64_t chunks, const AllReduceOptions& options);

  CommunicatorOptions options_;
  std::uint64_t code_hash_ = 0;
  std::optional<RingLink> link_;
  std::optional<std::int64_t> switch_over_bytes_;
  std::array<ExecutorSet, OperationHeader::kKinds> executors_;
  std::vector<Slice> slices_;     ///< of the present operation
  std::vector<float> measured_;   ///< norms or rms of this rank's chunks
  std::vector<float> gathered_;   ///< rms of all ranks' chunks
  std::vector<float> arriving_;   ///< scratch of recursive doubling
  PiggybackOperation piggyback_;  ///< what the piggyback executors look at
  IntegerPlan integer_plan_;      ///< what the integer piggyback executors look at
  Statistics statistics_;
  Recorder recorder_{statistics_};
};

}  // namespace cerar
