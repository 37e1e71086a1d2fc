#include "experiments/bench/trace.h"

#include "experiments/bench/gather.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string_view>

namespace cerar::bench {

namespace {

using Track = TraceEvent::Track;

/// The same for processes that share a kernel and with it CLOCK_MONOTONIC.
std::uint64_t kernel_id(std::int64_t rank) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  const std::string id{std::istreambuf_iterator<char>(file), {}};
  return id.empty() ? static_cast<std::uint64_t>(rank) : std::hash<std::string>{}(id);
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Of every rank's clock ahead of rank 0's.
std::vector<std::int64_t> clock_differences(Communicator& communicator) {
  constexpr std::size_t kBarriers = 21;
  std::array<std::int64_t, kBarriers> mine;
  for (std::int64_t& seen : mine) {
    communicator.barrier();
    seen = now_ns();
  }
  const auto all = gather(communicator, mine);
  std::vector<std::int64_t> differences;
  for (auto seen : all) {
    for (std::size_t k = 0; k < kBarriers; ++k) {
      seen[k] -= all.front()[k];
    }
    std::ranges::nth_element(seen, seen.begin() + kBarriers / 2);
    differences.push_back(seen[kBarriers / 2]);
  }
  return differences;
}

/// As many events as travel at a time: what the other ranks hold of what they don't want is small.
using Batch = std::array<TraceEvent, 1024>;

bool is_traced(const TraceEvent& event, const TraceLabel& label) {
  return event.operation >= label.first && event.operation < label.last;
}

std::string_view track_name(Track track) {
  constexpr std::array<std::string_view, 3> kNames = {"work", "link out", "link in"};
  return kNames[static_cast<std::size_t>(track)];
}

void append_metadata(std::string& json, std::size_t rank, const RankTrace& trace) {
  const std::string note =
      trace.displaced > 0 ? fmt::format(" ({} earlier events are missing)", trace.displaced) : std::string();
  fmt::format_to(std::back_inserter(json),
                 R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":"rank {0}{1}"}}}},)"
                 "\n"
                 R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}},)"
                 "\n",
                 rank, note);
  for (const Track track : {Track::link_out, Track::link_in, Track::work}) {
    fmt::format_to(std::back_inserter(json),
                   R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}},)"
                   "\n",
                   rank, static_cast<int>(track) + 1, track_name(track));
  }
}

void append_event(std::string& json, std::size_t rank, const TraceEvent& event, std::int64_t origin_ns,
                  const std::string& label) {
  const std::string place =
      event.slice >= 0 ? fmt::format(R"("slice":{},"round":{},)", event.slice, event.round) : std::string();
  const std::string title = event.track == Track::work ? std::string(name(event.phase))
                                                       : fmt::format("slice {} round {}", event.slice, event.round);
  fmt::format_to(std::back_inserter(json),
                 R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":"{}","args":{{{}"of":{}}}}},)"
                 "\n",
                 rank, static_cast<int>(event.track) + 1, 1e-3 * static_cast<double>(event.begin_ns - origin_ns),
                 1e-3 * static_cast<double>(event.end_ns - event.begin_ns), title, place, label);
}

}  // namespace

RingTrace gather_trace(Communicator& communicator) {
  const std::int64_t rank = communicator.rank();
  const bool collects = rank == 0;
  RingTrace trace;
  const std::vector<std::uint64_t> kernels = gather(communicator, kernel_id(rank));
  trace.clocks_estimated = std::ranges::adjacent_find(kernels, std::not_equal_to()) != kernels.end();
  std::vector<std::int64_t> clocks(kernels.size(), 0);
  if (trace.clocks_estimated) {
    clocks = clock_differences(communicator);
  }
  const std::vector<TraceEvent> mine = communicator.trace();
  const auto counts = gather(communicator, static_cast<std::int64_t>(mine.size()));
  const auto displaced = gather(communicator, communicator.displaced_events());
  trace.ranks.resize(collects ? counts.size() : 0);
  for (std::size_t from = 0; from < trace.ranks.size(); ++from) {
    trace.ranks[from].clock_ns = clocks[from];
    trace.ranks[from].displaced = displaced[from];
  }
  const auto most = static_cast<std::size_t>(std::ranges::max(counts));
  for (std::size_t first = 0; first < most; first += Batch{}.size()) {
    Batch batch{};
    if (first < mine.size()) {
      std::copy_n(mine.begin() + static_cast<std::ptrdiff_t>(first), std::min(batch.size(), mine.size() - first),
                  batch.begin());
    }
    const std::vector<Batch> batches = gather(communicator, batch);
    for (std::size_t from = 0; from < trace.ranks.size(); ++from) {
      const std::size_t rest =
          static_cast<std::size_t>(counts[from]) - std::min(first, static_cast<std::size_t>(counts[from]));
      trace.ranks[from].events.insert(
          trace.ranks[from].events.end(), batches[from].begin(),
          batches[from].begin() + static_cast<std::ptrdiff_t>(std::min(batch.size(), rest)));
    }
  }
  return trace;
}

std::string to_chrome_json(const RingTrace& trace, const std::vector<TraceLabel>& labels) {
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const RankTrace& rank : trace.ranks) {
    for (const TraceEvent& event : rank.events) {
      origin_ns = std::min(origin_ns, event.begin_ns - rank.clock_ns);
    }
  }
  std::string json = "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"clocks\":\"" +
                     std::string(trace.clocks_estimated ? "several hosts, differences estimated" : "one") +
                     "\"},\n\"traceEvents\":[\n";
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    append_metadata(json, rank, trace.ranks[rank]);
  }
  for (const TraceLabel& label : labels) {
    const std::string quoted = nlohmann::json(label.text).dump();
    for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      for (const TraceEvent& event : trace.ranks[rank].events) {
        if (is_traced(event, label)) {
          append_event(json, rank, event, origin_ns + trace.ranks[rank].clock_ns, quoted);
        }
      }
    }
  }
  if (json[json.size() - 2] == ',') {
    json.erase(json.size() - 2, 1);
  }
  json += "]}\n";
  return json;
}

}  // namespace cerar::bench
