#include "coding/ring_shape.h"
#include "collective/kernels.h"
#include "collective/recorder.h"
#include "collective/slice_executor.h"
#include "collective/slice_view.h"

namespace cerar {

namespace {

/// Works in the vector itself: partial sums are sent from it, finished chunks are received straight into it.
class ExactExecutor final : public SliceExecutor {
 public:
  explicit ExactExecutor(const SliceContext& context)
      : rank_(context.rank),
        size_(context.size),
        recorder_(context.recorder),
        view_(context.size),
        partial_(static_cast<std::size_t>(context.longest_message)) {}

  [[nodiscard]] std::int64_t rounds() const noexcept override { return 2 * (size_ - 1); }

  void begin(std::span<float> values, const Slice& slice) override { view_.open(values, slice); }

  // Worker i sends chunk i in round 1, and in every later round the chunk that it has just summed or received.
  [[nodiscard]] std::span<const float> outgoing(std::int64_t round) const override {
    return view_.chunk(wrap(rank_ - round + 1, size_));
  }

  [[nodiscard]] std::span<float> incoming(std::int64_t round) override {
    return is_scatter(round) ? std::span(partial_).first(view_.chunk_values())
                             : view_.chunk(wrap(rank_ - round, size_));
  }

  void received(std::int64_t round) override {
    if (is_scatter(round)) {
      const PhaseTimer timer(recorder_, Phase::update);
      const std::span<float> sum = view_.chunk(wrap(rank_ - round, size_));
      add(partial_.data(), sum.data(), sum.size(), sum.data());
    }
  }

  void finish() override { view_.close(); }

  [[nodiscard]] std::int64_t memory_bytes() const noexcept override {
    return static_cast<std::int64_t>(partial_.size() * sizeof(float)) + view_.memory_bytes();
  }

 private:
  [[nodiscard]] bool is_scatter(std::int64_t round) const noexcept { return round <= size_ - 1; }

  std::int64_t rank_;
  std::int64_t size_;
  Recorder& recorder_;
  SliceView view_;
  std::vector<float> partial_;
};

}  // namespace

std::unique_ptr<SliceExecutor> make_exact_executor(const SliceContext& context) {
  return std::make_unique<ExactExecutor>(context);
}

}  // namespace cerar
