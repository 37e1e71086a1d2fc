#include "coding/ring_shape.h"
#include "collective/kernels.h"
#include "collective/slice_executor.h"
#include "collective/slice_view.h"
#include "collective/stopwatch.h"

#include <Eigen/Core>

#include <array>

namespace cerar {

namespace {

/// The rounds of docs/theory.md (eq. 3), one slice at a time. The deltas that are on their way round the ring are kept
/// as they were added, so that their removal subtracts the very same bits.
class CodedExecutor final : public SliceExecutor {
 public:
  CodedExecutor(const SliceContext& context, const Code& code)
      : size_(context.size),
        chunks_(code.shape.chunks),
        rounds_(code.shape.rounds()),
        decoder_(code.decoder),
        first_kept_round_(code.first_kept_round),
        encoder_(code.encoders[static_cast<std::size_t>(context.rank)].cast<float>()),
        decoding_(code.decoders[static_cast<std::size_t>(context.rank)].cast<float>()),
        statistics_(context.statistics),
        view_(chunks_),
        capacity_(static_cast<std::size_t>(context.longest_message)),
        buffers_(static_cast<std::size_t>(size_ + code.kept() + 3) * capacity_) {
    terms_.reserve(static_cast<std::size_t>(std::max(chunks_, code.kept())));
  }

  [[nodiscard]] std::int64_t rounds() const noexcept override { return rounds_; }

  void begin(std::span<float> values, const Slice& slice) override {
    view_.open(values, slice);
    encode(1);
    std::ranges::copy(delta(1), sent(1).begin());
  }

  [[nodiscard]] std::span<const float> outgoing(std::int64_t round) const override {
    return std::span(buffers_).subspan(offset_of_sent(round), view_.chunk_values());
  }

  [[nodiscard]] std::span<float> incoming(std::int64_t) override { return arrival(); }

  void received(std::int64_t round) override {
    const std::size_t n = view_.chunk_values();
    std::span<float> others = arrival();  // o_{i,t}, made in place of r_{i,t}
    {
      const Stopwatch watch(statistics_.update_seconds);
      if (decoder_ == Decoder::paper && round >= size_) {
        std::ranges::copy(others, kept(1 + round - size_).begin());
      }
      if (round >= size_) {
        subtract(others.data(), delta(round - size_ + 1).data(), n, others.data());
      }
      if (decoder_ == Decoder::own_exact && round >= first_kept_round_) {
        std::ranges::copy(others, kept(round - first_kept_round_).begin());
      }
    }
    if (round == rounds_) {
      return;
    }
    encode(round + 1);
    const Stopwatch watch(statistics_.update_seconds);
    add(others.data(), delta(round + 1).data(), n, sent(round + 1).data());
    if (decoder_ == Decoder::paper && round + 1 == size_) {
      std::ranges::copy(sent(round + 1), kept(0).begin());
    }
  }

  void finish() override {
    const Stopwatch watch(statistics_.decode_seconds);
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      terms_.clear();
      for (std::int64_t m = 0; m < decoding_.rows(); ++m) {
        if (decoding_(m, chunk) != 0.0F) {
          terms_.push_back({kept(m).data(), decoding_(m, chunk)});
        }
      }
      const std::span<float> own = view_.chunk(chunk);
      if (decoder_ == Decoder::own_exact) {
        combine_onto(own.data(), terms_, own.size(), own.data());
      } else {
        combine(terms_, own.size(), own.data());
      }
    }
    view_.close();
  }

  [[nodiscard]] std::int64_t memory_bytes() const noexcept override {
    const auto floats = static_cast<std::int64_t>(buffers_.size()) + encoder_.size() + decoding_.size();
    return floats * static_cast<std::int64_t>(sizeof(float)) + view_.memory_bytes();
  }

 private:
  // delta_{i,t} = G_i u_{i,t} (eq. 1)
  void encode(std::int64_t round) {
    const Stopwatch watch(statistics_.encode_seconds);
    terms_.clear();
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      if (encoder_(round - 1, chunk) != 0.0F) {
        terms_.push_back({view_.chunk(chunk).data(), encoder_(round - 1, chunk)});
      }
    }
    combine(terms_, view_.chunk_values(), delta(round).data());
  }

  std::span<float> buffer(std::int64_t index) {
    return std::span(buffers_).subspan(static_cast<std::size_t>(index) * capacity_, view_.chunk_values());
  }
  // A delta returns after N-1 rounds: N buffers hold all that are on their way.
  std::span<float> delta(std::int64_t round) { return buffer(round % size_); }
  [[nodiscard]] std::size_t offset_of_sent(std::int64_t round) const {
    return static_cast<std::size_t>(size_ + round % 2) * capacity_;
  }
  std::span<float> sent(std::int64_t round) { return buffer(size_ + round % 2); }
  std::span<float> arrival() { return buffer(size_ + 2); }
  std::span<float> kept(std::int64_t index) { return buffer(size_ + 3 + index); }

  std::int64_t size_;
  std::int64_t chunks_;
  std::int64_t rounds_;
  Decoder decoder_;
  std::int64_t first_kept_round_;
  Eigen::MatrixXf encoder_;   ///< U_i, L x c
  Eigen::MatrixXf decoding_;  ///< R_i, kept x c
  Statistics& statistics_;
  SliceView view_;
  std::size_t capacity_;
  std::vector<float> buffers_;  ///< N deltas, two messages on their way out, one arrival, the kept vectors
  std::vector<Term> terms_;
};

}  // namespace

std::unique_ptr<SliceExecutor> make_coded_executor(const SliceContext& context, const Code& code) {
  return std::make_unique<CodedExecutor>(context, code);
}

}  // namespace cerar
