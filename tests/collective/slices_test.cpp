#include "collective/slices.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <utility>

namespace cerar {

TEST_CASE("slices cover every tensor once, in order, and straddle none") {
  const std::vector<std::int64_t> tensors = {100, 0, 7, 24, 1};
  const std::vector<Slice> slices = cut_slices(tensors, 4, 3);
  std::set<std::int64_t> ends;
  std::int64_t end = 0;
  for (const std::int64_t tensor : tensors) {
    ends.insert(end += tensor);
  }
  std::int64_t next = 0;
  for (const Slice& slice : slices) {
    CHECK(slice.offset == next);
    CHECK(slice.length >= 1);
    CHECK(slice.length <= 12);
    CHECK(slice.chunk_values == (slice.length + 3) / 4);
    CHECK(*ends.upper_bound(slice.offset) >= slice.offset + slice.length);
    next += slice.length;
  }
  CHECK(next == 132);
  CHECK(slices.size() == 9 + 1 + 2 + 1);
}

TEST_CASE("no values, no slices") {
  CHECK(cut_slices(std::vector<std::int64_t>{}, 4, 8).empty());
  CHECK(cut_slices(std::vector<std::int64_t>{0, 0}, 4, 8).empty());
}

TEST_CASE("vectors beyond 2^31 values are cut with 64-bit offsets") {
  const std::int64_t length = (std::int64_t{1} << 33) + 5;
  const std::vector<Slice> slices = cut_slices(std::vector<std::int64_t>{length}, 4, std::int64_t{1} << 28);
  CHECK(slices.size() == 9);
  CHECK(slices.back() == Slice{std::int64_t{1} << 33, 5, 2});
}

TEST_CASE("the message order visits every round of every slice once, a slot's in turn") {
  for (const std::int64_t count : {0, 1, 2, 3, 7, 8, 9, 20}) {
    for (const std::int64_t rounds : {0, 1, 2, 14}) {
      for (const std::int64_t slots : {1, 2, 3, 8}) {
        std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> last_of_slot;
        std::set<std::pair<std::int64_t, std::int64_t>> seen;
        for (MessageOrder order(count, rounds, slots); !order.at_end(); ++order) {
          CHECK(order->slice % slots == order->slot);
          CHECK(order->slice < count);
          CHECK(seen.emplace(order->slice, order->round).second);
          auto& last = last_of_slot.try_emplace(order->slot, -1, 0).first->second;
          CHECK(last < std::pair(order->slice, order->round));
          last = {order->slice, order->round};
        }
        CHECK(static_cast<std::int64_t>(seen.size()) == count * rounds);
      }
    }
  }
}

}  // namespace cerar
