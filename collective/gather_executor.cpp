#include "coding/ring_shape.h"
#include "collective/slice_executor.h"

namespace cerar {

namespace {

/// All-gather in N-1 rounds, straight into the result: a slice is the same stretch of every rank's vector.
class GatherExecutor final : public SliceExecutor {
 public:
  explicit GatherExecutor(const SliceContext& context) : rank_(context.rank), size_(context.size) {}

  [[nodiscard]] std::int64_t rounds() const noexcept override { return size_ - 1; }
  void begin(std::span<float> values, const Slice& slice) override {
    all_ = values;
    stride_ = values.size() / static_cast<std::size_t>(size_);
    slice_ = slice;
  }
  [[nodiscard]] std::span<const float> outgoing(std::int64_t round) const override { return part(rank_ - round + 1); }
  [[nodiscard]] std::span<float> incoming(std::int64_t round) override { return part(rank_ - round); }
  void received(std::int64_t) override {}
  void finish() override {}
  [[nodiscard]] std::int64_t memory_bytes() const noexcept override { return 0; }

 private:
  [[nodiscard]] std::span<float> part(std::int64_t rank) const noexcept {
    return all_.subspan(static_cast<std::size_t>(wrap(rank, size_)) * stride_ + static_cast<std::size_t>(slice_.offset),
                        static_cast<std::size_t>(slice_.length));
  }

  std::int64_t rank_;
  std::int64_t size_;
  std::span<float> all_;
  std::size_t stride_ = 0;
  Slice slice_;
};

}  // namespace

std::unique_ptr<SliceExecutor> make_gather_executor(const SliceContext& context) {
  return std::make_unique<GatherExecutor>(context);
}

}  // namespace cerar
