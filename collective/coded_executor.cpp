#include "collective/kernels.h"
#include "collective/recorder.h"
#include "collective/slice_executor.h"
#include "collective/slice_view.h"

#include <Eigen/Core>

#include <algorithm>

namespace cerar {

namespace {

/// The rounds of docs/theory.md (eq. 3), one slice at a time. Deltas are kept as they were added, so that their removal
/// subtracts the very same bits.
///
/// A code whose deltas are made of few chunks is encoded round by round. If they are made of many, a slice is encoded
/// as a whole when it is begun: it would not stay in the caches from round to round.
class CodedExecutor final : public SliceExecutor {
 public:
  CodedExecutor(const SliceContext& context, const Code& code)
      : size_(context.size),
        rounds_(code.shape.rounds()),
        decoder_(code.decoder),
        first_kept_round_(code.first_kept_round),
        encoding_(encoding_of(code.encoders[static_cast<std::size_t>(context.rank)])),
        decoding_(decoding_of(code.decoders[static_cast<std::size_t>(context.rank)])),
        recorder_(context.recorder),
        view_(code.shape.chunks),
        encodes_ahead_(encoding_.terms() > kFewTerms * static_cast<std::size_t>(rounds_)),
        deltas_(encodes_ahead_ ? rounds_ : size_ + 1),
        capacity_((static_cast<std::size_t>(context.longest_message) + kLineValues - 1) / kLineValues * kLineValues),
        buffers_(static_cast<std::size_t>(deltas_ + code.kept() + 3) * capacity_ + kLineValues) {}

  [[nodiscard]] std::int64_t rounds() const noexcept override { return rounds_; }

  void begin(std::span<float> values, const Slice& slice) override {
    view_.open(values, slice);
    // Buffers lie to cache lines as the slice's chunks do.
    origin_ = (values_to_alignment(buffers_.data()) - values_to_alignment(view_.chunk(0).data())) % kLineValues;
    const PhaseTimer timer(recorder_, Phase::encode);
    if (encodes_ahead_) {
      const std::size_t n = view_.chunk_values();
      apply(encoding_, {view_.chunk(0).data(), n}, n, {delta(1).data(), capacity_});
    } else {
      encode(1);
    }
  }

  [[nodiscard]] std::span<const float> outgoing(std::int64_t round) const override {
    return std::span(buffers_).subspan(offset(round == 1 ? index_of_delta(1) : index_of_sent(round)),
                                       view_.chunk_values());
  }

  [[nodiscard]] std::span<float> incoming(std::int64_t) override { return arrival(); }

  // o_{i,t} = r_{i,t} less the own delta that comes back, kept for decoding; s_{i,t+1} = o_{i,t} + delta_{i,t+1}.
  void received(std::int64_t round) override {
    const std::size_t n = view_.chunk_values();
    if (!encodes_ahead_ && round < rounds_) {
      const PhaseTimer timer(recorder_, Phase::encode);
      encode(round + 1);
    }
    const PhaseTimer timer(recorder_, round < size_ ? Phase::prepare : Phase::update);
    const float* removed = round >= size_ ? delta(round - size_ + 1).data() : nullptr;
    const bool is_last = round == rounds_;
    float* others = nullptr;
    if (decoder_ == Decoder::own_exact && round >= first_kept_round_) {
      others = kept(round - first_kept_round_).data();
    }
    forward(arrival().data(), removed, is_last ? nullptr : delta(round + 1).data(), n, others,
            is_last ? nullptr : sent(round + 1).data());
    if (decoder_ == Decoder::paper) {
      if (round >= size_) {
        std::ranges::copy(arrival(), kept(1 + round - size_).begin());
      }
      if (round + 1 == size_) {
        std::ranges::copy(sent(round + 1), kept(0).begin());
      }
    }
  }

  void finish() override {
    const PhaseTimer timer(recorder_, Phase::decode);
    const std::size_t n = view_.chunk_values();
    const Vectors<float> chunks{view_.chunk(0).data(), n};
    if (decoder_ == Decoder::own_exact) {
      apply_onto(decoding_, {kept(0).data(), capacity_}, n, chunks);
    } else {
      apply(decoding_, {kept(0).data(), capacity_}, n, chunks);
    }
    view_.close();
  }

  [[nodiscard]] std::int64_t memory_bytes() const noexcept override {
    return static_cast<std::int64_t>(buffers_.size() * sizeof(float)) + encoding_.memory_bytes() +
           decoding_.memory_bytes() + view_.memory_bytes();
  }

 private:
  /// Terms of a delta, on average, up to which it is made when it is needed.
  static constexpr std::size_t kFewTerms = 6;

  void encode(std::int64_t round) {
    const std::size_t n = view_.chunk_values();
    apply_row(encoding_, static_cast<std::size_t>(round - 1), {view_.chunk(0).data(), n}, n, delta(round).data());
  }

  // delta_{i,t} = G_i u_{i,t} (eq. 1) for all t; U_i is L x c.
  static LinearMap encoding_of(const Eigen::MatrixXd& encoder) {
    return {static_cast<std::size_t>(encoder.rows()), static_cast<std::size_t>(encoder.cols()),
            [&](std::size_t round, std::size_t chunk) {
              return static_cast<float>(encoder(static_cast<Eigen::Index>(round), static_cast<Eigen::Index>(chunk)));
            }};
  }

  // R_i is kept x c: chunk j is made of column j.
  static LinearMap decoding_of(const Eigen::MatrixXd& decoder) {
    return {static_cast<std::size_t>(decoder.cols()), static_cast<std::size_t>(decoder.rows()),
            [&](std::size_t chunk, std::size_t m) {
              return static_cast<float>(decoder(static_cast<Eigen::Index>(m), static_cast<Eigen::Index>(chunk)));
            }};
  }

  std::span<float> buffer(std::int64_t index) {
    return std::span(buffers_).subspan(offset(index), view_.chunk_values());
  }
  [[nodiscard]] std::size_t offset(std::int64_t index) const noexcept {
    return origin_ + static_cast<std::size_t>(index) * capacity_;
  }
  // A delta returns after N-1 rounds: N + 1 buffers hold all that are on their way, the one that has just returned and
  // the next one.
  [[nodiscard]] std::int64_t index_of_delta(std::int64_t round) const noexcept { return (round - 1) % deltas_; }
  [[nodiscard]] std::int64_t index_of_sent(std::int64_t round) const noexcept { return deltas_ + round % 2; }
  std::span<float> delta(std::int64_t round) { return buffer(index_of_delta(round)); }
  std::span<float> sent(std::int64_t round) { return buffer(index_of_sent(round)); }
  std::span<float> arrival() { return buffer(deltas_ + 2); }
  std::span<float> kept(std::int64_t index) { return buffer(deltas_ + 3 + index); }

  std::int64_t size_;
  std::int64_t rounds_;
  Decoder decoder_;
  std::int64_t first_kept_round_;
  LinearMap encoding_;
  LinearMap decoding_;
  Recorder& recorder_;
  SliceView view_;
  bool encodes_ahead_;
  std::int64_t deltas_;  ///< that are kept at a time
  std::size_t capacity_;
  std::vector<float> buffers_;  ///< deltas, two messages on their way out, one arrival, the kept vectors
  std::size_t origin_ = 0;      ///< of the first buffer
};

}  // namespace

std::unique_ptr<SliceExecutor> make_coded_executor(const SliceContext& context, const Code& code) {
  return std::make_unique<CodedExecutor>(context, code);
}

}  // namespace cerar
