// cerar bench --profile and --trace: what they write, from real processes.
#include "tests/program.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace cerar {
namespace {

using testing::cerar;
using testing::contains;
using testing::contents;
using testing::Folder;
using testing::Outcome;
using Json = nlohmann::json;

/// Events of one thread of one rank.
using Tracks = std::map<std::pair<int, int>, std::vector<Json>>;

Tracks tracks_of(const Json& trace) {
  Tracks tracks;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      tracks[{event["pid"], event["tid"]}].push_back(event);
    }
  }
  return tracks;
}

constexpr int kWork = 1;
constexpr int kLinkIn = 3;

}  // namespace

TEST_CASE("a profile has every rank, parts that make up no more than the whole, and no phase that the ring lacks") {
  const Folder folder;
  REQUIRE(cerar(folder, "fit --workers 3 --chunks 6 -o code.json").status == 0);
  const Outcome outcome = cerar(folder,
                                "bench --workers 3 --code code.json --sizes 400K --profile --warmup 1 --iterations 4 "
                                "--json bench.json");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  CHECK(contains(outcome.out, "communic."));
  const Json report = Json::parse(contents(folder / "bench.json"));
  REQUIRE(report["rows"].size() == 3);
  for (const Json& row : report["rows"]) {
    CAPTURE(row.dump());
    REQUIRE(row["profile"].size() == 3);
    for (const Json& rank : row["profile"]) {
      const auto us = [&](const char* key) { return rank.at(key).get<double>(); };
      CHECK(us("unprofiled_us") > 0);
      CHECK(us("communication_us") + us("computation_us") <= us("profiled_us"));
      CHECK(us("communication_us") == doctest::Approx(us("send_us") + us("receive_us") + us("wait_us")));
      for (const char* key : {"send_us", "receive_us", "check_us", "update_us"}) {
        CHECK_MESSAGE(us(key) > 0, key);
      }
      for (const char* key : {"encode_us", "prepare_us", "decode_us"}) {
        CHECK_MESSAGE((us(key) > 0) == (row["algorithm"] == "coded"), key);
      }
      CHECK(us("computation_us") <= row["local_us"].get<double>() * (1 + 1e-9));
    }
  }
}

TEST_CASE("a trace shows every message of the order once on either link, and events of a thread do not overlap") {
  const Folder folder;
  REQUIRE(cerar(folder, "fit --workers 3 --chunks 6 -o code.json").status == 0);
  // 3 slices of 6 chunks of 1000 values, the last one shorter; 6 + 3 - 2 rounds.
  const Outcome outcome =
      cerar(folder,
            "bench --workers 3 --code code.json --algorithms coded --sizes 60000 --slice-chunk-values 1000 "
            "--slices-in-flight 2 --warmup 0 --iterations 1 --trace trace.json");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  const Json trace = Json::parse(contents(folder / "trace.json"));
  CHECK(trace["otherData"]["clocks"] == "one");
  Tracks tracks = tracks_of(trace);
  REQUIRE(tracks.size() == 9);
  for (auto& [track, events] : tracks) {
    const auto place = track;  // a binding cannot be captured
    CAPTURE(place.first);
    CAPTURE(place.second);
    std::ranges::sort(events, {}, [](const Json& event) { return event["ts"].get<double>(); });
    double end = 0;
    for (const Json& event : events) {
      CHECK(event["args"]["of"] == "coded, 60000 B");
      CHECK(event["dur"].get<double>() >= 0);
      CHECK(event["ts"].get<double>() >= end - 2e-3);  // either is rounded to a nanosecond
      end = event["ts"].get<double>() + event["dur"].get<double>();
    }
    if (track.second != kWork) {
      std::set<std::pair<int, int>> messages;
      for (const Json& event : events) {
        messages.emplace(event["args"]["slice"], event["args"]["round"]);
      }
      CHECK(events.size() == 21);
      CHECK(messages.size() == 21);
    } else {
      std::map<std::string, int> count;
      for (const Json& event : events) {
        ++count[event["name"]];
      }
      CHECK(count["check"] == 3);
      CHECK(count["decode"] == 3);
      CHECK(count["encode"] >= 3);
    }
  }
  // No message has come before the work that it is made of began: encoding for round 1, later work on the arrival
  // before.
  using Place = std::tuple<int, int, int>;
  std::map<Place, double> worked;
  const auto place = [](int rank, const Json& event) {
    return Place{rank, event["args"]["slice"], event["args"]["round"]};
  };
  for (int rank = 0; rank < 3; ++rank) {
    for (const Json& event : tracks[{rank, kWork}]) {
      if (event["args"].contains("slice")) {
        worked.emplace(place(rank, event), event["ts"].get<double>());
      }
    }
  }
  for (int rank = 0; rank < 3; ++rank) {
    for (const Json& event : tracks[{rank, kLinkIn}]) {
      const auto [sender, slice, round] = place((rank + 2) % 3, event);
      CHECK(event["ts"].get<double>() + event["dur"].get<double>() > worked.at({sender, slice, round - 1}));
    }
  }
}

TEST_CASE("a trace holds the latest events and says how many it lacks") {
  const Folder folder;
  const Outcome outcome = cerar(folder,
                                "bench --workers 2 --algorithms exact --sizes 64K,1M --warmup 0 --iterations 1 "
                                "--trace trace.json --trace-events 50");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  CHECK_MESSAGE(contains(outcome.out, "--trace-events "), outcome.out);
  const Json trace = Json::parse(contents(folder / "trace.json"));
  std::size_t events = 0;
  for (const auto& [track, some] : tracks_of(trace)) {
    events += some.size();
    CHECK(some.back()["args"]["of"] == "exact, 1048576 B");
  }
  CHECK(events == 100);
  CHECK(contains(contents(folder / "trace.json"), "earlier events are missing"));
}

TEST_CASE("a trace that cannot be written is refused before any worker starts") {
  const Folder folder;
  const Outcome outcome = cerar(folder, "bench --workers 2 --sizes 4 --trace no/such/trace.json");
  CHECK(outcome.status != 0);
  CHECK_MESSAGE(contains(outcome.err, "no/such"), outcome.err);
  CHECK(outcome.out.empty());
}

}  // namespace cerar
