#include "coding/piggyback_reference.h"
#include "collective/kernels.h"
#include "collective/piggyback_kernels.h"
#include "collective/recorder.h"
#include "collective/slice_executor.h"
#include "collective/slice_view.h"

#include <algorithm>

namespace cerar {

namespace {

/// PiggybackWorker (coding/piggyback_reference.h) on the caller's memory: a chunk turns from what it was into what the
/// worker knows of its sum and then into that. Beside it there are only two messages, one arriving while the other,
/// which arrived before and was worked on where it lay, leaves.
class PiggybackExecutor final : public SliceExecutor {
 public:
  PiggybackExecutor(const SliceContext& context, const PiggybackCode& code, const PiggybackOperation& operation)
      : rank_(context.rank),
        workers_(code.shape.workers),
        groups_(code.groups()),
        rounds_(code.shape.rounds()),
        words_(code.adapts_scale ? kWords : 0),
        unsigned_d_(static_cast<float>(code.d)),
        recorder_(context.recorder),
        view_(code.shape.chunks),
        operation_(operation),
        capacity_(
            static_cast<std::size_t>((context.longest_message + words_ + kLineValues - 1) / kLineValues * kLineValues)),
        buffers_(2 * capacity_ + kLineValues),
        scales_(static_cast<std::size_t>(workers_)) {}

  [[nodiscard]] std::int64_t rounds() const noexcept override { return rounds_; }

  void begin(std::span<float> values, const Slice& slice) override {
    view_.open(values, slice);
    const std::span<const Slice> slices = operation_.slices;
    slice_ = std::ranges::lower_bound(slices, slice.offset, {}, &Slice::offset) - slices.begin();
    d_ = unsigned_d_ * static_cast<float>(operation_.sign);
    std::ranges::fill(scales_, Scales{d_, d_, d_});
    align_messages();
    serve(1);
  }

  [[nodiscard]] std::span<const float> outgoing(std::int64_t round) const override {
    return std::span(buffers_).subspan(offset_of_arrival(round - 1), message_values());
  }
  [[nodiscard]] std::span<float> incoming(std::int64_t round) override {
    return std::span(buffers_).subspan(offset_of_arrival(round), message_values());
  }
  void received(std::int64_t round) override { serve(round + 1); }
  void finish() override { view_.close(); }

  [[nodiscard]] std::int64_t memory_bytes() const noexcept override {
    return static_cast<std::int64_t>(buffers_.size() * sizeof(float) + scales_.size() * sizeof(Scales)) +
           view_.memory_bytes();
  }

 private:
  // The words at the front of a message, see PiggybackMessage.
  static constexpr std::int64_t kWords = 4;
  static constexpr std::int64_t kLineValues = 16;
  enum Word : std::size_t { superposed, mixed, norm, norm_after };

  struct Scales {
    float superposed;
    float mixed;
    float mixed_next;
  };

  /// Turns what arrived in round `round` - 1 into what leaves in round `round`; see PiggybackWorker::serve, whose
  /// roundings these are.
  void serve(std::int64_t round) {
    const auto [chain, role, pass] = piggyback_role(rank_, round, workers_);
    const PhaseTimer timer(recorder_, pass == 0 ? Phase::prepare : pass == groups_ ? Phase::decode : Phase::update);
    const bool leads = role == workers_ - 1;
    const std::size_t n = view_.chunk_values();
    const Scales& scales = scales_[static_cast<std::size_t>(chain)];
    const std::span<float> message = incoming(round - 1);
    float* values = message.data() + words_;
    const float next_before = coefficients(role, scales).next;
    if (pass == groups_) {
      if (!leads) {
        read_last(values, next_before, n, chunk(pass - 1, chain), chunk(pass - 2, chain));
      }
      return;
    }
    follow_scales(message, chain, role, pass);
    const ChainCoefficients c = coefficients(role, scales);
    const ChainWindow window{pass > 1 ? chunk(pass - 2, chain) : nullptr, pass > 0 ? chunk(pass - 1, chain) : nullptr,
                             chunk(pass, chain), pass + 1 < groups_ ? chunk(pass + 1, chain) : nullptr};
    if (pass == 0) {
      add_contribution(role == 0, window.own, window.next, c.premix, n, values);
      if (leads) {
        std::copy_n(values, n, window.own);
      }
    } else if (!leads) {
      superpose(window, c, next_before, n, values);
    } else {
      lead(window, c, n, values);
    }
    if (leads) {
      choose_scales(message, pass);
    }
    fetch_ahead(round + 1);
  }

  /// A chunk is first read as its chain's `next`: the processor cannot guess which comes after this one.
  void fetch_ahead(std::int64_t round) const {
    const auto [chain, role, pass] = piggyback_role(rank_, round, workers_);
    if (pass + 1 < groups_) {
      fetch(chunk(pass + 1, chain), view_.chunk_values());
    }
  }

  [[nodiscard]] ChainCoefficients coefficients(std::int64_t role, const Scales& scales) const noexcept {
    const auto mixing = piggyback_coefficients(role, workers_, scales.mixed_next, 0);
    const auto decoding = piggyback_coefficients(role, workers_, scales.mixed, scales.superposed);
    return {static_cast<float>(mixing.premix), static_cast<float>(decoding.own), static_cast<float>(decoding.next),
            scales.superposed, 1.0F / scales.superposed};
  }

  void follow_scales(std::span<float> message, std::int64_t chain, std::int64_t role, std::int64_t pass) {
    if (words_ == 0) {
      return;
    }
    Scales& scales = scales_[static_cast<std::size_t>(chain)];
    if (pass == 0) {
      const float now = l1(0, chain);
      const float next = l1(1, chain);
      if (role == 0) {
        std::fill_n(message.begin(), kWords, 0.0F);
        message[mixed] = d_ * static_cast<float>(std::min(1.0, piggyback_scale(now, next)));
      }
      scales.mixed_next = message[mixed];
      message[superposed] += now;
      message[norm] += next;
      message[norm_after] += l1(2, chain);
      return;
    }
    scales = {message[superposed], scales.mixed_next, message[mixed]};
    message[norm] += l1(pass + 2, chain);
  }

  void choose_scales(std::span<float> message, std::int64_t pass) {
    if (words_ == 0) {
      return;
    }
    const auto scaled = [this](float now, float next) { return d_ * static_cast<float>(piggyback_scale(now, next)); };
    const float riding = pass == 0 ? scaled(message[superposed], message[norm]) : message[mixed];
    const float now = pass == 0 ? message[norm] : known_norm_;
    known_norm_ = pass == 0 ? message[norm_after] : message[norm];
    message[superposed] = riding;
    message[mixed] = scaled(now, known_norm_);
    message[norm] = message[norm_after] = 0.0F;
  }

  [[nodiscard]] float l1(std::int64_t group, std::int64_t chain) const {
    const std::int64_t first = slice_ * groups_ * workers_;
    return group < groups_ ? operation_.norms[static_cast<std::size_t>(first + group * workers_ + chain)] : 0.0F;
  }

  [[nodiscard]] float* chunk(std::int64_t group, std::int64_t chain) const {
    return view_.chunk(group * workers_ + chain).data();
  }
  [[nodiscard]] std::size_t message_values() const { return view_.chunk_values() + static_cast<std::size_t>(words_); }
  [[nodiscard]] std::size_t offset_of_arrival(std::int64_t round) const noexcept {
    return origin_ + static_cast<std::size_t>(round % 2) * capacity_;
  }

  /// Lays the messages' values to cache lines as the slice's chunks are.
  void align_messages() {
    const std::size_t wanted = values_to_alignment(chunk(0, 0));
    const std::size_t given = values_to_alignment(buffers_.data() + words_);
    origin_ = (given - wanted) % kLineValues;
  }

  std::int64_t rank_;
  std::int64_t workers_;
  std::int64_t groups_;
  std::int64_t rounds_;
  std::int64_t words_;
  float unsigned_d_;
  float d_ = 0;
  Recorder& recorder_;
  SliceView view_;
  const PiggybackOperation& operation_;
  std::int64_t slice_ = 0;
  std::size_t capacity_;
  std::vector<float> buffers_;  ///< two messages, the first from origin_ on
  std::size_t origin_ = 0;
  std::vector<Scales> scales_;  ///< by chain
  float known_norm_ = 0;        ///< of group g + 2, gathered in pass g on the chain this worker leads
};

}  // namespace

std::unique_ptr<SliceExecutor> make_piggyback_executor(const SliceContext& context, const PiggybackCode& code,
                                                       const PiggybackOperation& operation) {
  return std::make_unique<PiggybackExecutor>(context, code, operation);
}

}  // namespace cerar
