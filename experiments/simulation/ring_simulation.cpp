#include "experiments/simulation/ring_simulation.h"

#include "collective/slices.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

namespace cerar {

namespace {

constexpr double kValueBytes = 4;

/// A slice in flight at one rank: times at which its next messages are ready and have left.
struct Slot {
  std::array<double, 2> ready{};  ///< of round t at t % 2
  std::array<double, 2> left{};   ///< likewise
};

class Rank {
 public:
  Rank(const SimulatedLink& link, std::int64_t slots) : link_(&link), slots_(static_cast<std::size_t>(slots)) {}

  /// A slice begins when all of the one before has arrived, `from` at the latest, and left.
  void begin(std::size_t slot, double work) {
    Slot& mine = slots_[slot];
    thread_free_ += work;
    work_ += work;
    mine.ready[1] = std::max(thread_free_, std::max(mine.left[0], mine.left[1]) + work);
  }

  /// Carries a message of `bytes`; those before it were as long or longer, the buffer holds `buffered` of them.
  /// @return when its last byte arrives at the next rank
  double send(const MessageOrder::Message& message, double bytes) {
    Slot& mine = slots_[static_cast<std::size_t>(message.slot)];
    const auto parity = static_cast<std::size_t>(message.round % 2);
    const double ready = mine.ready[parity];
    const double seconds = bytes / link_->bytes_per_second;
    const double start = std::max(ready, link_free_);
    link_free_ = start + seconds;
    link_seconds_ += seconds;
    // The kernel has taken all of it once no more than its buffer holds is still to be carried.
    const double backlog = link_->buffer_bytes / link_->bytes_per_second;
    last_left_ = std::max({ready, last_left_, link_free_ - backlog});
    mine.left[parity] = last_left_;
    return link_free_ + link_->latency_seconds;
  }

  /// Works on the arrival of a message.
  void receive(const MessageOrder::Message& message, double arrived, double work) {
    Slot& mine = slots_[static_cast<std::size_t>(message.slot)];
    // Where it goes is free once the message of the round before has left.
    const double free = message.round > 1 ? mine.left[static_cast<std::size_t>((message.round - 1) % 2)] : 0;
    thread_free_ = std::max({arrived, thread_free_, free}) + work;
    work_ += work;
    mine.ready[static_cast<std::size_t>((message.round + 1) % 2)] = thread_free_;
  }

  void finish(double work) {
    thread_free_ += work;
    work_ += work;
  }

  [[nodiscard]] double done() const { return std::max(thread_free_, last_left_); }
  [[nodiscard]] double link_seconds() const { return link_seconds_; }
  [[nodiscard]] double work() const { return work_; }

 private:
  const SimulatedLink* link_;
  std::vector<Slot> slots_;
  double thread_free_ = 0;
  double link_free_ = 0;
  double last_left_ = 0;
  double link_seconds_ = 0;
  double work_ = 0;
};

void validate(const SimulatedRing& ring, std::span<const SimulatedLink> links, const SimulatedWork& work) {
  if (ring.workers < 2 || ring.chunks < 1 || ring.rounds < 1 || ring.values < 0 || ring.slice_chunk_values < 1 ||
      ring.slices_in_flight < 1) {
    throw std::invalid_argument(fmt::format(
        "a ring of {} workers, {} chunks, {} rounds, {} values, {} values a chunk and {} slices in flight cannot be "
        "simulated; at least 2 workers, no negative number of values and 1 of the rest are needed",
        ring.workers, ring.chunks, ring.rounds, ring.values, ring.slice_chunk_values, ring.slices_in_flight));
  }
  if (links.size() != 1 && links.size() != static_cast<std::size_t>(ring.workers)) {
    throw std::invalid_argument(
        fmt::format("{} links for a ring of {}: give one for all or one for each", links.size(), ring.workers));
  }
  for (const SimulatedLink& link : links) {
    if (!(link.bytes_per_second > 0) || !(link.latency_seconds >= 0) || !(link.buffer_bytes >= 0)) {
      throw std::invalid_argument(
          fmt::format("a link of {} B/s with a latency of {} s and a buffer of {} B: the first must be positive, the "
                      "others not negative",
                      link.bytes_per_second, link.latency_seconds, link.buffer_bytes));
    }
  }
  for (const double cost :
       {work.begin_per_value, work.round_per_value, work.finish_per_value, work.round_per_message}) {
    if (!(cost >= 0)) {
      throw std::invalid_argument(fmt::format("work that takes {} s: it must not be negative", cost));
    }
  }
}

std::vector<Slice> slices_of(const SimulatedRing& ring) {
  const std::array whole = {ring.values};
  return cut_slices(whole, ring.chunks, std::min(ring.slice_chunk_values, std::max<std::int64_t>(1, ring.values)));
}

}  // namespace

double simulation_steps(const SimulatedRing& ring, std::size_t links) {
  const double slice = static_cast<double>(ring.chunks) * static_cast<double>(ring.slice_chunk_values);
  return (static_cast<double>(ring.values) / slice + 1) * static_cast<double>(ring.rounds) * static_cast<double>(links);
}

SimulatedTime simulate(const SimulatedRing& ring, std::span<const SimulatedLink> links, const SimulatedWork& work) {
  validate(ring, links, work);
  const std::vector<Slice> slices = slices_of(ring);
  const auto count = static_cast<std::int64_t>(slices.size());
  std::vector<Rank> ranks;
  for (const SimulatedLink& link : links) {
    ranks.emplace_back(link, ring.slices_in_flight);
  }
  const auto begin = [&](Rank& rank, std::int64_t slice) {
    rank.begin(static_cast<std::size_t>(slice % ring.slices_in_flight),
               work.begin_per_value * static_cast<double>(slices[static_cast<std::size_t>(slice)].length));
  };
  for (Rank& rank : ranks) {
    for (std::int64_t slice = 0; slice < std::min(count, ring.slices_in_flight); ++slice) {
      begin(rank, slice);
    }
  }
  SimulatedTime time;
  std::vector<double> arrivals(ranks.size());
  for (MessageOrder order(count, ring.rounds, ring.slices_in_flight); !order.at_end(); ++order) {
    const Slice& slice = slices[static_cast<std::size_t>(order->slice)];
    const auto values = static_cast<double>(slice.chunk_values);
    time.link_bytes += static_cast<std::int64_t>(kValueBytes) * slice.chunk_values;
    // Alone, a rank is its own predecessor: all ranks are alike.
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      arrivals[(k + 1) % ranks.size()] = ranks[k].send(*order, kValueBytes * values);
    }
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      ranks[k].receive(*order, arrivals[k], work.round_per_message + work.round_per_value * values);
      if (order->round == ring.rounds) {
        ranks[k].finish(work.finish_per_value * static_cast<double>(slice.length));
        if (order->slice + ring.slices_in_flight < count) {
          begin(ranks[k], order->slice + ring.slices_in_flight);
        }
      }
    }
  }
  for (const Rank& rank : ranks) {
    time.seconds = std::max(time.seconds, rank.done());
    time.link_seconds = std::max(time.link_seconds, rank.link_seconds());
    time.work_seconds = std::max(time.work_seconds, rank.work());
  }
  return time;
}

}  // namespace cerar
