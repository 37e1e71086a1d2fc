#include "collective/kernels.h"
#include "collective/recorder.h"
#include "collective/slice_executor.h"
#include "collective/slice_view.h"

#include <array>

namespace cerar {

namespace {

/// The baseline: what arrives is added to the own vector and passed on as it came.
class NaiveExecutor final : public SliceExecutor {
 public:
  explicit NaiveExecutor(const SliceContext& context) : size_(context.size), recorder_(context.recorder), view_(1) {
    for (auto& buffer : passing_) {
      buffer.resize(static_cast<std::size_t>(context.longest_message));
    }
  }

  [[nodiscard]] std::int64_t rounds() const noexcept override { return size_ - 1; }

  void begin(std::span<float> values, const Slice& slice) override {
    view_.open(values, slice);
    std::ranges::copy(view_.chunk(0), message(1).begin());
  }

  [[nodiscard]] std::span<const float> outgoing(std::int64_t round) const override {
    return std::span(passing_[index(round)]).first(view_.chunk_values());
  }

  // Round t's arrival is round t + 1's message.
  [[nodiscard]] std::span<float> incoming(std::int64_t round) override { return message(round + 1); }

  void received(std::int64_t round) override {
    const PhaseTimer timer(recorder_, Phase::update);
    const std::span<float> sum = view_.chunk(0);
    add(sum.data(), message(round + 1).data(), sum.size(), sum.data());
  }

  void finish() override { view_.close(); }

  [[nodiscard]] std::int64_t memory_bytes() const noexcept override {
    return static_cast<std::int64_t>(passing_.size() * passing_[0].size() * sizeof(float)) + view_.memory_bytes();
  }

 private:
  // Round t + 1 is received while round t may still be leaving.
  static std::size_t index(std::int64_t round) noexcept { return static_cast<std::size_t>(round % 2); }
  std::span<float> message(std::int64_t round) { return std::span(passing_[index(round)]).first(view_.chunk_values()); }

  std::int64_t size_;
  Recorder& recorder_;
  SliceView view_;
  std::array<std::vector<float>, 2> passing_;
};

}  // namespace

std::unique_ptr<SliceExecutor> make_naive_executor(const SliceContext& context) {
  return std::make_unique<NaiveExecutor>(context);
}

}  // namespace cerar
