#include "collective/piggyback_integer_executor.h"

#include "coding/piggyback_integer.h"
#include "collective/piggyback_integer_kernels.h"
#include "collective/recorder.h"
#include "collective/slice_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace cerar {

namespace {

/// IntegerWorker (coding/piggyback_integer_reference.cpp) on the caller's memory. A message's first word is the peak
/// of the sum in it, as the bits of a float. Spans of float are where the pipeline finds the words; nobody reads them
/// as floats.
class PiggybackIntegerExecutor final : public SliceExecutor {
 public:
  PiggybackIntegerExecutor(const SliceContext& context, const PiggybackCode& code, const IntegerPlan& plan)
      : code_(code),
        plan_(plan),
        rank_(context.rank),
        workers_(code.shape.workers),
        groups_(code.groups()),
        rounds_(code.shape.rounds()),
        recorder_(context.recorder),
        view_(code.shape.chunks),
        capacity_(static_cast<std::size_t>(context.longest_message + kWords)),
        buffers_(4 * capacity_),
        peaks_(static_cast<std::size_t>(workers_)) {}

  [[nodiscard]] std::int64_t rounds() const noexcept override { return rounds_; }

  void begin(std::span<float> values, const Slice& slice) override {
    view_.open(values, slice);
    std::ranges::fill(peaks_, 0.0F);
    slice_ = std::ranges::lower_bound(plan_.slices, slice.offset, {}, &Slice::offset) - plan_.slices.begin();
    const std::int64_t chunks = code_.shape.chunks;
    const auto stride = static_cast<std::int64_t>(plan_.slices.size()) * chunks;
    integer_scales(code_, plan_.rms.subspan(static_cast<std::size_t>(slice_ * chunks)), stride, slice.chunk_values,
                   plan_.sign, scales_);
    serve(1);
  }

  [[nodiscard]] std::span<const float> outgoing(std::int64_t round) const override {
    return {reinterpret_cast<const float*>(buffers_.data() + offset_of_sent(round)), view_.chunk_values() + kWords};
  }
  [[nodiscard]] std::span<float> incoming(std::int64_t) override {
    const std::span<std::int32_t> words = arrival();
    return {reinterpret_cast<float*>(words.data()), words.size()};
  }
  void received(std::int64_t round) override { serve(round + 1); }
  void finish() override { view_.close(); }

  [[nodiscard]] std::int64_t memory_bytes() const noexcept override {
    return static_cast<std::int64_t>(buffers_.size() * sizeof(std::int32_t) + peaks_.size() * sizeof(float) +
                                     scales_.capacity() * sizeof(IntegerScale)) +
           view_.memory_bytes();
  }

 private:
  static constexpr std::int64_t kWords = 1;

  /// Reads what arrived in round `round` - 1 and prepares what leaves in round `round`; see IntegerWorker::serve.
  void serve(std::int64_t round) {
    const auto [chain, role, pass] = piggyback_role(rank_, round, workers_);
    const bool leads = role == workers_ - 1;
    const std::size_t n = view_.chunk_values();
    if (pass > 0 && !leads) {
      const PhaseTimer timer(recorder_, Phase::decode);
      const IntegerContribution mine = contribution(pass - 1, chain, role);
      learn_words(decoding(pass - 1, chain, role, arrival()), mine, chunk(pass - 1, chain), before(pass - 1, chain), n);
    }
    if (pass == groups_) {
      if (round <= rounds_) {
        std::ranges::copy(arrival(), sent(round).begin());
      }
      return;
    }
    const PhaseTimer timer(recorder_, pass == 0 ? Phase::prepare : Phase::update);
    const std::span<std::int32_t> out = sent(round);
    if (!leads) {
      const bool starts = round == 1;
      out.front() = starts ? 0 : arrival().front();
      add_steps(starts ? nullptr : arrival().data() + kWords, contribution(pass, chain, role), n, out.data() + kWords);
      return;
    }
    const LedSum sum{arrival().data() + kWords, pass > 0 ? led().data() + kWords : nullptr,
                     contribution(pass, chain, role)};
    const float peak = checked_peak(peak_of(sum, n));
    out.front() = std::bit_cast<std::int32_t>(peak);
    write_words(sum, inverse_or_zero(integer_unit(peak, scale(pass + 1, chain))), n, out.data() + kWords);
    std::ranges::copy(out, led().begin());
    learn_led_words(decoding(pass, chain, role, out), chunk(pass, chain), before(pass, chain), n);
  }

  /// How group `group` is read off a message; remembers its peak.
  IntegerDecoding decoding(std::int64_t group, std::int64_t chain, std::int64_t role,
                           std::span<const std::int32_t> message) {
    const auto peak = std::bit_cast<float>(message.front());
    float& peak_before = peaks_[static_cast<std::size_t>(chain)];
    PiggybackCoefficients coefficients;
    if (group > 0) {
      coefficients = integer_coefficients(role, workers_, scale(group - 1, chain), scale(group, chain), peak_before);
    }
    peak_before = peak;
    return {message.data() + kWords, integer_unit(peak, scale(group + 1, chain)), coefficients.own, coefficients.next};
  }

  /// Before the peak of group `group` is known: what counts is that of the group before.
  [[nodiscard]] IntegerContribution contribution(std::int64_t group, std::int64_t chain, std::int64_t role) const {
    const IntegerScale& mine = scale(group, chain);
    const bool is_last = group == groups_ - 1;
    const double step = mine.step(peaks_[static_cast<std::size_t>(chain)]);
    return {chunk(group, chain), chunk(is_last ? group : group + 1, chain),
            is_last ? 0 : piggyback_coefficients(role, workers_, mine.mixed, 0).premix, step, inverse_or_zero(step)};
  }

  [[nodiscard]] float checked_peak(double peak) const {
    try {
      return peak_on_the_wire(peak);
    } catch (const std::overflow_error& error) {
      const Slice& slice = plan_.slices[static_cast<std::size_t>(slice_)];
      throw std::overflow_error(fmt::format("slice {} of {}, values {} to {}: {}", slice_ + 1, plan_.slices.size(),
                                            slice.offset, slice.offset + slice.length - 1, error.what()));
    }
  }

  [[nodiscard]] const IntegerScale& scale(std::int64_t group, std::int64_t chain) const {
    static const IntegerScale nothing;  // rides on the last group
    return group < groups_ ? scales_[static_cast<std::size_t>(group * workers_ + chain)] : nothing;
  }
  [[nodiscard]] float* chunk(std::int64_t group, std::int64_t chain) const {
    return view_.chunk(group * workers_ + chain).data();
  }
  [[nodiscard]] float* before(std::int64_t group, std::int64_t chain) const {
    return group > 0 ? chunk(group - 1, chain) : nullptr;
  }

  std::span<std::int32_t> buffer(std::int64_t index) {
    return std::span(buffers_).subspan(static_cast<std::size_t>(index) * capacity_, view_.chunk_values() + kWords);
  }
  [[nodiscard]] std::size_t offset_of_sent(std::int64_t round) const noexcept {
    return static_cast<std::size_t>(round % 2) * capacity_;
  }
  std::span<std::int32_t> sent(std::int64_t round) { return buffer(round % 2); }
  std::span<std::int32_t> arrival() { return buffer(2); }
  std::span<std::int32_t> led() { return buffer(3); }

  const PiggybackCode& code_;
  const IntegerPlan& plan_;
  std::int64_t rank_;
  std::int64_t workers_;
  std::int64_t groups_;
  std::int64_t rounds_;
  Recorder& recorder_;
  SliceView view_;
  std::int64_t slice_ = 0;
  std::vector<IntegerScale> scales_;  ///< of the slice's chunks
  std::size_t capacity_;
  std::vector<std::int32_t> buffers_;  ///< two messages on their way out, one arrival, and the last one sent as leader
  std::vector<float> peaks_;           ///< by chain, of the last sum that was learnt
};

}  // namespace

std::unique_ptr<SliceExecutor> make_piggyback_integer_executor(const SliceContext& context, const PiggybackCode& code,
                                                               const IntegerPlan& plan) {
  return std::make_unique<PiggybackIntegerExecutor>(context, code, plan);
}

}  // namespace cerar
