#include "coding/piggyback_reference.h"
#include "collective/piggyback_kernels.h"
#include "collective/slice_executor.h"
#include "collective/slice_view.h"
#include "collective/stopwatch.h"

#include <algorithm>

namespace cerar {

namespace {

/// PiggybackWorker (coding/piggyback_reference.h) on the caller's memory: group after group, a worker's chunks turn
/// into what it knows of the sums and then into the sums. Beside messages it holds one vector a chain, for rounding
/// errors.
class PiggybackExecutor final : public SliceExecutor {
 public:
  PiggybackExecutor(const SliceContext& context, const PiggybackCode& code, int sign)
      : rank_(context.rank),
        workers_(code.shape.workers),
        groups_(code.groups()),
        rounds_(code.shape.rounds()),
        words_(code.adapts_scale ? kWords : 0),
        d_(static_cast<float>(code.d) * static_cast<float>(sign)),
        statistics_(context.statistics),
        view_(context.values, code.shape.chunks),
        capacity_(static_cast<std::size_t>(context.longest_message + words_)),
        buffers_(static_cast<std::size_t>(workers_ + 3) * capacity_),
        scales_(static_cast<std::size_t>(workers_)) {}

  [[nodiscard]] std::int64_t rounds() const noexcept override { return rounds_; }

  void begin(const Slice& slice) override {
    view_.open(slice);
    std::ranges::fill(scales_, Scales{d_, d_, d_});
    serve(1);
  }

  [[nodiscard]] std::span<const float> outgoing(std::int64_t round) const override {
    return std::span(buffers_).subspan(static_cast<std::size_t>(workers_ + round % 2) * capacity_, message_values());
  }
  [[nodiscard]] std::span<float> incoming(std::int64_t) override { return arrival(); }
  void received(std::int64_t round) override { serve(round + 1); }
  void finish() override { view_.close(); }

  [[nodiscard]] std::int64_t memory_bytes() const noexcept override {
    return static_cast<std::int64_t>(buffers_.size() * sizeof(float) + scales_.size() * sizeof(Scales)) +
           view_.memory_bytes();
  }

 private:
  // The words at the front of a message, see PiggybackMessage.
  static constexpr std::int64_t kWords = 4;
  enum Word : std::size_t { superposed, mixed, norm, norm_after };

  struct Scales {
    float superposed;
    float mixed;
    float mixed_next;
  };

  /// Reads what arrived in round `round` - 1 and prepares what leaves in round `round`; see PiggybackWorker::serve,
  /// whose steps and roundings these are.
  void serve(std::int64_t round) {
    const auto [chain, role, pass] = piggyback_role(rank_, round, workers_);
    const bool leads = role == workers_ - 1;
    const std::size_t n = view_.chunk_values();
    Scales& scales = scales_[static_cast<std::size_t>(chain)];
    const float* heard = values(arrival());
    float* out = values(sent(round));
    if (pass > 0 && !leads) {
      const Stopwatch watch(statistics_.decode_seconds);
      float* known = chunk(pass - 1, chain);
      if (pass == 1) {
        std::copy_n(heard, n, known);
      } else {
        learn_heard(heard, roundings(chain), 1.0F / scales.superposed, decoding(role, scales), known,
                    chunk(pass - 2, chain), n);
      }
    }
    if (pass == groups_) {
      if (round <= rounds_) {
        std::ranges::copy(arrival(), sent(round).begin());
      }
      return;
    }
    const Stopwatch watch(statistics_.update_seconds);
    follow_scales(round, chain, role, pass);
    const Contribution own{chunk(pass, chain), pass + 1 < groups_ ? chunk(pass + 1, chain) : nullptr,
                           coefficients(role, scales.mixed_next, 0).premix};
    if (pass == 0) {
      add_contribution(role == 0 ? nullptr : heard, own, n, out);
    } else if (!leads) {
      superpose(heard, own, scales.superposed, n, out, roundings(chain));
    } else {
      lead(heard, chunk(pass - 1, chain), 1.0F / scales.superposed, own, n, out);
    }
    if (leads) {
      if (pass == 0) {
        std::copy_n(out, n, chunk(0, chain));
      } else {
        learn_led(out, decoding(role, scales), chunk(pass, chain), chunk(pass - 1, chain), n);
      }
      choose_scales(round, pass);
    }
  }

  struct FloatCoefficients {
    float premix;
    float own;
    float next;
  };
  [[nodiscard]] FloatCoefficients coefficients(std::int64_t role, float mixed, float superposed) const noexcept {
    const PiggybackCoefficients exact = piggyback_coefficients(role, workers_, mixed, superposed);
    return {static_cast<float>(exact.premix), static_cast<float>(exact.own), static_cast<float>(exact.next)};
  }
  [[nodiscard]] Decoding decoding(std::int64_t role, const Scales& scales) const noexcept {
    const FloatCoefficients c = coefficients(role, scales.mixed, scales.superposed);
    return {c.own, c.next};
  }

  void follow_scales(std::int64_t round, std::int64_t chain, std::int64_t role, std::int64_t pass) {
    if (words_ == 0) {
      return;
    }
    Scales& scales = scales_[static_cast<std::size_t>(chain)];
    const std::span<float> in = arrival();
    const std::span<float> out = sent(round);
    if (pass == 0) {
      const float now = l1(0, chain);
      const float next = l1(1, chain);
      if (role == 0) {
        std::fill_n(out.begin(), kWords, 0.0F);
        out[mixed] = d_ * static_cast<float>(std::min(1.0, piggyback_scale(now, next)));
      } else {
        std::copy_n(in.begin(), kWords, out.begin());
      }
      scales.mixed_next = out[mixed];
      out[superposed] += now;
      out[norm] += next;
      out[norm_after] += l1(2, chain);
      return;
    }
    std::copy_n(in.begin(), kWords, out.begin());
    scales = {in[superposed], scales.mixed_next, in[mixed]};
    out[norm] += l1(pass + 2, chain);
  }

  void choose_scales(std::int64_t round, std::int64_t pass) {
    if (words_ == 0) {
      return;
    }
    const std::span<float> out = sent(round);
    const auto scaled = [this](float now, float next) { return d_ * static_cast<float>(piggyback_scale(now, next)); };
    const float riding = pass == 0 ? scaled(out[superposed], out[norm]) : out[mixed];
    const float now = pass == 0 ? out[norm] : known_norm_;
    known_norm_ = pass == 0 ? out[norm_after] : out[norm];
    out[superposed] = riding;
    out[mixed] = scaled(now, known_norm_);
    out[norm] = out[norm_after] = 0.0F;
  }

  [[nodiscard]] float l1(std::int64_t group, std::int64_t chain) const {
    return group < groups_ ? l1_norm(chunk(group, chain), static_cast<std::int64_t>(view_.chunk_values())) : 0.0F;
  }

  [[nodiscard]] float* chunk(std::int64_t group, std::int64_t chain) const {
    return view_.chunk(group * workers_ + chain).data();
  }
  std::span<float> buffer(std::int64_t index, std::int64_t words) {
    return std::span(buffers_).subspan(static_cast<std::size_t>(index) * capacity_,
                                       view_.chunk_values() + static_cast<std::size_t>(words));
  }
  [[nodiscard]] std::size_t message_values() const { return view_.chunk_values() + static_cast<std::size_t>(words_); }
  float* roundings(std::int64_t chain) { return buffer(chain, 0).data(); }
  std::span<float> sent(std::int64_t round) { return buffer(workers_ + round % 2, words_); }
  std::span<float> arrival() { return buffer(workers_ + 2, words_); }
  [[nodiscard]] float* values(std::span<float> message) const { return message.data() + words_; }

  std::int64_t rank_;
  std::int64_t workers_;
  std::int64_t groups_;
  std::int64_t rounds_;
  std::int64_t words_;
  float d_;
  Statistics& statistics_;
  SliceView view_;
  std::size_t capacity_;
  std::vector<float> buffers_;  ///< N vectors of rounding errors, two messages on their way out, one arrival
  std::vector<Scales> scales_;  ///< by chain
  float known_norm_ = 0;        ///< of group g + 2, gathered in pass g on the chain this worker leads
};

}  // namespace

std::unique_ptr<SliceExecutor> make_piggyback_executor(const SliceContext& context, const PiggybackCode& code,
                                                       int sign) {
  return std::make_unique<PiggybackExecutor>(context, code, sign);
}

}  // namespace cerar
