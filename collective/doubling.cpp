#include "collective/doubling.h"

#include "collective/kernels.h"
#include "collective/recorder.h"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <sched.h>

namespace cerar {

namespace {

std::int64_t largest_power_of_two(std::int64_t size) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
}

/// How often a rank looks again before it sleeps: an answer is expected within microseconds, and being woken takes
/// longer than that. Others run in between.
constexpr int kLooks = 50;

class Doubling {
 public:
  Doubling(RingLink& link, const OperationHeader& header, std::span<float> values, std::vector<float>& arriving,
           Recorder& recorder)
      : link_(link),
        header_(header),
        values_(values),
        arriving_(arriving),
        recorder_(recorder),
        statistics_(recorder.statistics()) {
    if (arriving_.size() < values.size()) {
      arriving_.resize(values.size());
    }
  }

  void run() {
    const std::int64_t power = largest_power_of_two(link_.size());
    std::span<const Peer> partners = link_.pairs();
    if (link_.rank() >= power) {
      begin(partners.front(), values_, {});
      move();
      begin_answer({}, values_);
      move();
      return;
    }
    const Peer* extra = link_.rank() + power < link_.size() ? &partners.front() : nullptr;
    if (extra != nullptr) {
      begin(*extra, {}, arrival());
      move();
      add_arrival();
      partners = partners.subspan(1);
    }
    for (const Peer& partner : partners) {
      begin(partner, values_, arrival());
      move();
      add_arrival();
    }
    if (extra != nullptr) {
      partner_ = extra;
      begin_answer(values_, {});
      move();
    }
  }

 private:
  [[nodiscard]] std::span<float> arrival() noexcept { return std::span(arriving_).first(values_.size()); }

  void add_arrival() {
    const PhaseTimer timer(recorder_, Phase::update);
    add(values_.data(), arriving_.data(), values_.size(), values_.data());
  }

  /// Headers go both ways at once, with what is to be sent.
  void begin(const Peer& partner, std::span<const float> out, std::span<float> in) {
    partner_ = &partner;
    out_ = {std::as_bytes(std::span(&header_, 1)), std::as_bytes(out)};
    in_ = {std::as_writable_bytes(std::span(&header_in_, 1)), std::as_writable_bytes(in)};
    statistics_.header_bytes += static_cast<std::int64_t>(sizeof header_);
    statistics_.payload_bytes += static_cast<std::int64_t>(out.size_bytes());
    statistics_.rounds += out.empty() ? 0 : 1;
  }

  /// The result goes to a partner that has had a header.
  void begin_answer(std::span<const float> out, std::span<float> in) {
    out_ = {std::span<const std::byte>{}, std::as_bytes(out)};
    in_ = {std::span<std::byte>{}, std::as_writable_bytes(in)};
    statistics_.payload_bytes += static_cast<std::int64_t>(out.size_bytes());
    statistics_.rounds += out.empty() ? 0 : 1;
  }

  void move() {
    int looks = 0;
    while (!is_empty(out_) || !is_empty(in_)) {
      const bool sent = !is_empty(out_) && send();
      const bool received = !is_empty(in_) && receive();
      if (sent || received) {
        looks = 0;
      } else if (++looks < kLooks) {
        sched_yield();
      } else {
        const PhaseTimer timer(recorder_, Phase::wait);
        link_.wait(is_empty(out_) ? nullptr : partner_, is_empty(in_) ? nullptr : partner_, [this] {
          return in_[0].empty() ? fmt::format("exchanging with rank {}", partner_->rank)
                                : "which that rank has not begun";
        });
      }
    }
  }

  bool send() {
    const PhaseTimer timer(recorder_, Phase::send);
    return advance(out_, link_.send(*partner_, out_));
  }

  bool receive() {
    const PhaseTimer timer(recorder_, Phase::receive);
    const bool awaits_header = !in_[0].empty();
    const bool moved = advance(in_, link_.receive(*partner_, in_));
    if (awaits_header && in_[0].empty() && header_in_ != header_) {
      link_.control().fail(describe_difference(header_, link_.rank(), header_in_, partner_->rank));
    }
    return moved;
  }

  template <class Byte>
  using Pieces = std::array<std::span<Byte>, 2>;

  template <class Byte>
  static bool is_empty(const Pieces<Byte>& pieces) noexcept {
    return pieces[0].empty() && pieces[1].empty();
  }

  template <class Byte>
  static bool advance(Pieces<Byte>& pieces, std::size_t moved) noexcept {
    const std::size_t first = std::min(moved, pieces[0].size());
    pieces[0] = pieces[0].subspan(first);
    pieces[1] = pieces[1].subspan(moved - first);
    return moved > 0;
  }

  RingLink& link_;
  const OperationHeader& header_;
  OperationHeader header_in_;
  std::span<float> values_;
  std::vector<float>& arriving_;
  Recorder& recorder_;
  Statistics& statistics_;
  const Peer* partner_ = nullptr;
  Pieces<const std::byte> out_;  ///< header and values that have not left yet
  Pieces<std::byte> in_;         ///< where what has not arrived yet goes
};

}  // namespace

std::vector<std::int64_t> doubling_partners(std::int64_t rank, std::int64_t size) {
  const std::int64_t power = largest_power_of_two(size);
  if (rank >= power) {
    return {rank - power};
  }
  std::vector<std::int64_t> partners;
  if (rank + power < size) {
    partners.push_back(rank + power);
  }
  for (std::int64_t distance = 1; distance < power; distance *= 2) {
    partners.push_back(rank ^ distance);
  }
  return partners;
}

void run_doubling(RingLink& link, const OperationHeader& header, std::span<float> values, std::vector<float>& arriving,
                  Recorder& recorder) {
  link.begin_operation(header);
  recorder.set_operation(static_cast<std::int64_t>(header.sequence));
  recorder.set_place(-1, 0);
  Doubling(link, header, values, arriving, recorder).run();
}

}  // namespace cerar
