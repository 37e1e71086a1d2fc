#include "collective/pipeline.h"

#include "collective/kernels.h"

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <optional>

namespace cerar {

namespace {

class Pipeline {
 public:
  Pipeline(RingLink& link, const OperationHeader& header, const PipelineData& data, std::span<PipelineSlot> slots,
           Recorder& recorder)
      : link_(link),
        header_(header),
        data_(data),
        slices_(data.slices),
        recorder_(recorder),
        statistics_(recorder.statistics()),
        rounds_(slots.front().executor->rounds()),
        slots_(slots),
        to_send_(count(data.slices), rounds_, count(slots)),
        to_receive_(to_send_) {}

  void run() {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      slots_[slot].slice = static_cast<std::int64_t>(slot);
      start_next_slice(slots_[slot]);
    }
    while (!is_done()) {
      const bool sent = send();
      const bool received = receive();
      if (!sent && !received) {
        const PhaseTimer timer(recorder_, Phase::wait);
        const bool wants_to_send =
            header_out_sent_ < sizeof header_ || (!to_send_.at_end() && is_ready_to_send(*to_send_));
        const bool wants_to_receive =
            header_in_received_ < sizeof header_in_ || (!to_receive_.at_end() && is_ready_to_receive(*to_receive_));
        link_.wait(wants_to_send ? &link_.next() : nullptr, wants_to_receive ? &link_.previous() : nullptr,
                   [this] { return progress(); });
      }
    }
  }

 private:
  using Slot = PipelineSlot;

  template <class Range>
  static std::int64_t count(const Range& range) noexcept {
    return static_cast<std::int64_t>(range.size());
  }

  [[nodiscard]] bool is_done() const noexcept {
    return header_out_sent_ == sizeof header_ && header_in_received_ == sizeof header_in_ && to_send_.at_end() &&
           to_receive_.at_end();
  }

  Slot& slot_of(const MessageOrder::Message& message) { return slots_[static_cast<std::size_t>(message.slot)]; }

  bool is_ready_to_send(const MessageOrder::Message& message) {
    const Slot& slot = slot_of(message);
    return slot.active && slot.slice == message.slice && slot.received >= message.round - 1;
  }

  // See SliceExecutor: a round may arrive once the one before it has been worked on and has left.
  bool is_ready_to_receive(const MessageOrder::Message& message) {
    const Slot& slot = slot_of(message);
    return slot.active && slot.slice == message.slice && slot.received == message.round - 1 &&
           slot.sent >= message.round - 1;
  }

  void start_next_slice(Slot& slot) {
    slot.sent = slot.received = 0;
    slot.active = slot.slice < count(slices_);
    if (slot.active) {
      const Slice& slice = slices_[static_cast<std::size_t>(slot.slice)];
      recorder_.set_place(slot.slice, 0);
      if (data_.must_be_finite) {
        require_finite(slice);
      }
      slot.executor->begin(data_.values, slice);
      note_ready(slot);
    }
  }

  // Right before the slice is worked on: the processor's caches then hold it.
  void require_finite(const Slice& slice) const {
    const auto offset = static_cast<std::size_t>(slice.offset);
    const auto length = static_cast<std::size_t>(slice.length);
    const PhaseTimer timer(recorder_, Phase::check);
    const std::size_t bad = first_nonfinite(data_.values.subspan(offset, length));
    if (bad < length) {
      throw NonfiniteValue{offset + bad};
    }
  }

  void leave_finished_slice(Slot& slot) {
    if (slot.sent == rounds_ && slot.received == rounds_) {
      slot.slice += count(slots_);
      start_next_slice(slot);
    }
  }

  bool send() {
    std::array<std::span<const std::byte>, RingLink::kMostSpans> spans;
    std::size_t used = 0;
    if (header_out_sent_ < sizeof header_) {
      spans[used++] = std::as_bytes(std::span(&header_, 1)).subspan(header_out_sent_);
    }
    std::size_t skip = first_sent_;  // bytes of the foremost message that have left already
    for (MessageOrder order = to_send_; used < spans.size() && !order.at_end() && is_ready_to_send(*order); ++order) {
      spans[used++] = std::as_bytes(slot_of(*order).executor->outgoing(order->round)).subspan(skip);
      skip = 0;
    }
    if (used == 0) {
      return false;
    }
    std::size_t moved = hand_over(std::span(spans).first(used));
    if (moved == 0) {
      return false;
    }
    const std::size_t header = std::min(moved, sizeof header_ - header_out_sent_);
    header_out_sent_ += header;
    statistics_.header_bytes += static_cast<std::int64_t>(header);
    moved -= header;
    statistics_.payload_bytes += static_cast<std::int64_t>(moved);
    while (moved > 0) {
      Slot& slot = slot_of(*to_send_);
      const std::size_t rest = slot.executor->outgoing(to_send_->round).size_bytes() - first_sent_;
      if (moved < rest) {
        first_sent_ += moved;
        return true;
      }
      moved -= rest;
      first_sent_ = 0;
      ++to_send_;
      ++slot.sent;
      note_left(slot);
      ++statistics_.rounds;
      leave_finished_slice(slot);
    }
    return true;
  }

  bool receive() {
    if (header_in_received_ < sizeof header_in_) {
      return receive_header();
    }
    std::array<std::span<std::byte>, RingLink::kMostSpans> spans;
    std::size_t used = 0;
    std::size_t skip = first_received_;
    for (MessageOrder order = to_receive_; used < spans.size() && !order.at_end() && is_ready_to_receive(*order);
         ++order) {
      spans[used++] = std::as_writable_bytes(slot_of(*order).executor->incoming(order->round)).subspan(skip);
      skip = 0;
    }
    if (used == 0) {
      return false;
    }
    std::size_t moved = take(std::span(spans).first(used));
    if (moved == 0) {
      return false;
    }
    while (moved > 0) {
      Slot& slot = slot_of(*to_receive_);
      const std::int64_t round = to_receive_->round;
      const std::size_t rest = slot.executor->incoming(round).size_bytes() - first_received_;
      if (moved < rest) {
        first_received_ += moved;
        return true;
      }
      moved -= rest;
      first_received_ = 0;
      ++to_receive_;
      note_arrived(slot, round);
      recorder_.set_place(slot.slice, round);
      slot.executor->received(round);
      ++slot.received;
      note_ready(slot);
      if (slot.received == rounds_) {
        slot.executor->finish();
      }
      leave_finished_slice(slot);
    }
    return true;
  }

  bool receive_header() {
    const std::span<std::byte> rest = std::as_writable_bytes(std::span(&header_in_, 1)).subspan(header_in_received_);
    const std::size_t moved = take(std::span(&rest, 1));
    header_in_received_ += moved;
    if (header_in_received_ == sizeof header_in_ && header_in_ != header_) {
      link_.control().fail(describe_difference(header_, link_.rank(), header_in_, link_.previous().rank));
    }
    return moved > 0;
  }

  std::size_t hand_over(std::span<const std::span<const std::byte>> spans) {
    const PhaseTimer timer(recorder_, Phase::send);
    return link_.send(link_.next(), spans);
  }

  std::size_t take(std::span<const std::span<std::byte>> spans) {
    const PhaseTimer timer(recorder_, Phase::receive);
    const std::size_t moved = link_.receive(link_.previous(), spans);
    if (recorder_.is_tracing()) {
      taken_ns_ = Recorder::now();
    }
    return moved;
  }

  /// Round `slot.received` + 1 can leave, and arrive if the round before has left.
  void note_ready(Slot& slot) {
    if (recorder_.is_tracing()) {
      const std::int64_t now = Recorder::now();
      slot.ready_ns[static_cast<std::size_t>((slot.received + 1) % 2)] = now;
      if (slot.sent >= slot.received) {
        slot.receivable_ns = now;
      }
    }
  }

  /// Round `slot.sent` has.
  void note_left(Slot& slot) {
    if (recorder_.is_tracing()) {
      const std::int64_t now = Recorder::now();
      const std::int64_t begin = std::max(slot.ready_ns[static_cast<std::size_t>(slot.sent % 2)], last_left_ns_);
      recorder_.add_message(TraceEvent::Track::link_out, slot.slice, slot.sent, begin, now);
      last_left_ns_ = now;
      if (slot.sent == slot.received) {
        slot.receivable_ns = now;
      }
    }
  }

  void note_arrived(const Slot& slot, std::int64_t round) {
    if (recorder_.is_tracing()) {
      const std::int64_t begin = std::min(std::max(slot.receivable_ns, last_arrived_ns_), taken_ns_);
      recorder_.add_message(TraceEvent::Track::link_in, slot.slice, round, begin, taken_ns_);
      last_arrived_ns_ = taken_ns_;
    }
  }

  [[nodiscard]] std::string progress() const {
    if (header_in_received_ < sizeof header_in_) {
      return "which that rank has not begun";
    }
    return to_receive_.at_end() ? std::string("sending the last messages")
                                : fmt::format("slice {} of {}, round {} of {}", to_receive_->slice + 1, slices_.size(),
                                              to_receive_->round, rounds_);
  }

  RingLink& link_;
  const OperationHeader& header_;
  OperationHeader header_in_;
  std::size_t header_out_sent_ = 0;
  std::size_t header_in_received_ = 0;
  const PipelineData& data_;
  std::span<const Slice> slices_;
  Recorder& recorder_;
  Statistics& statistics_;
  std::int64_t rounds_;
  std::span<Slot> slots_;
  MessageOrder to_send_;
  MessageOrder to_receive_;
  std::size_t first_sent_ = 0;      ///< bytes of the foremost message in to_send_ that have left
  std::size_t first_received_ = 0;  ///< bytes of the foremost message in to_receive_ that have arrived
  // Only while tracing:
  std::int64_t last_left_ns_ = 0;
  std::int64_t taken_ns_ = 0;  ///< when bytes last came out of the kernel
  std::int64_t last_arrived_ns_ = 0;
};

}  // namespace

void run_pipeline(RingLink& link, const OperationHeader& header, const PipelineData& data,
                  std::span<PipelineSlot> slots, Recorder& recorder) {
  link.begin_operation(header);
  recorder.set_operation(static_cast<std::int64_t>(header.sequence));
  Pipeline(link, header, data, slots, recorder).run();
}

}  // namespace cerar
