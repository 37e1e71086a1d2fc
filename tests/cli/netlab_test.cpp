// cerar netlab as a user runs it. Where the machine allows no namespaces, status 77 is what is tested.
#include "experiments/netlab/link_rate.h"
#include "tests/program.h"

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <thread>

namespace cerar {

namespace {

using testing::cerar;
using testing::contains;
using testing::Folder;
using testing::Outcome;
using testing::shell;

bool has_namespaces() {
  static const bool has = [] {
    const Folder folder;
    const Outcome tried = cerar(folder, "netlab --workers 2 -- true");
    if (tried.status == 77) {
      MESSAGE("skipped, as on this machine: " << tried.err);
    }
    CHECK((tried.status == 0 || (tried.status == 77 && contains(tried.err, "no network of namespaces"))));
    return tried.status == 0;
  }();
  return has;
}

}  // namespace

TEST_CASE("rates, events and the goodput of a link") {
  using namespace netlab;
  CHECK(parse_rate("1Gbit") == 1e9);
  CHECK(parse_rate("2.5Gbit") == 2.5e9);
  CHECK(parse_rate("64kbit") == 64e3);
  for (const char* bad : {"", "1", "Gbit", "-1Gbit", "1gbit", "1 Gbit", "0Mbit", "nanGbit", "1e9Gbit"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_rate(bad), std::invalid_argument);
  }
  CHECK(to_string_of_rate(2.5e9) == "2.5Gbit");
  CHECK(goodput_bytes_per_second(1e9, 1500) == doctest::Approx(125e6 * 1448 / 1514));
  CHECK(default_burst_bytes(1e8) == 64 << 10);
  CHECK(default_burst_bytes(1e9) == 125000);
  CHECK(default_burst_bytes(1e11) == 512 << 10);
  const LinkEvent event = parse_event("1.5:3:100Mbit", 4);
  CHECK(event.seconds == 1.5);
  CHECK(event.host == 3);
  CHECK(event.bits_per_second == 1e8);
  CHECK(parse_event("0:0:up", 1).change == LinkEvent::Change::up);
  for (const char* bad : {"", "1", "1:2", "1:4:down", "1:-1:up", "-1:0:up", "1:0:sideways", "1:0.5:up", "x:0:up"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_event(bad, 4), std::invalid_argument);
  }
}

TEST_CASE("ranks on hosts of their own find each other and sum") {
  if (!has_namespaces()) {
    return;
  }
  const Folder folder;
  const Outcome bench = cerar(folder, std::string("netlab --workers 3 --rate 1Gbit -- '") + CERAR_PROGRAM +
                                          "' bench --algorithms exact,doubling --sizes 1M --iterations 2 --warmup 0");
  CHECK_MESSAGE(bench.status == 0, bench.err);
  CHECK(contains(bench.out, "Out of bounds values: 0 OK"));
  const Outcome places = cerar(folder,
                               "netlab --workers 2 --mtu 1400 -- sh -c 'echo $(hostname) $RANK $WORLD_SIZE "
                               "$LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $(cat /sys/class/net/eth0/mtu)'");
  CHECK(contains(places.out, "[0] host0 0 2 0 1 10.77.0.1 "));
  CHECK(contains(places.out, "[1] host1 1 2 0 1 10.77.0.1 "));
}

TEST_CASE("one command can reach all hosts, and links change when they should") {
  if (!has_namespaces()) {
    return;
  }
  const Folder folder;
  const Outcome once = cerar(folder,
                             "netlab --workers 3 --once -- sh -c 'echo $CERAR_NETLAB_HOSTS ${RANK-none}; "
                             "$CERAR_NETLAB_AGENT -x host2 hostname; $CERAR_NETLAB_AGENT 10.77.0.2 hostname; "
                             "$CERAR_NETLAB_AGENT host9 true'");
  CHECK(once.status != 0);
  CHECK(once.out == "10.77.0.1,10.77.0.2,10.77.0.3 none\nhost2\nhost1\n");
  CHECK(contains(once.err, "there is no host 'host9' here"));
  const Outcome events =
      cerar(folder,
            "netlab --workers 2 --at 0.3:1:down --at 1:1:up --at 1:0:10Mbit -- sh -c 'ip -br link show eth0; sleep "
            "0.7; ip -br link show eth0; sleep 0.8; ip -br link show eth0; tc qdisc show dev eth0'");
  CHECK(events.status == 0);
  CHECK(contains(events.out, "[1] eth0@"));
  CHECK(contains(events.out, "NO-CARRIER"));
  CHECK(contains(events.out, "rate 10Mbit"));
  CHECK(contains(events.out, "rate 1Gbit"));
}

TEST_CASE("a netlab passes on its command's status and is gone when it is killed") {
  if (!has_namespaces()) {
    return;
  }
  const Folder folder;
  CHECK(cerar(folder, "netlab --workers 2 -- sh -c 'exit $((RANK + 3))'").status >= 3);
  const Outcome killed =
      shell(folder, std::string("'") + CERAR_PROGRAM +
                        "' netlab --workers 2 -- sleep 98765 & sleep 1; kill -KILL $!; sleep 1; "
                        "pgrep -ax sleep | grep -c 98765; ip link | grep -c 'port[0-9]'; ls /run/netns "
                        "2>/dev/null | grep -c host");
  CHECK(killed.out == "0\n0\n0\n");
}

TEST_CASE("what cannot be had is said in a sentence") {
  const Folder folder;
  struct Bad {
    const char* arguments;
    const char* expected;
  };
  for (const Bad& bad : {Bad{"--workers 2 --rate fast", "'fast' is no rate"}, Bad{"--workers 0", "--workers"},
                         Bad{"--workers 2 --at 1:2:down", "'1:2:down' is no event"},
                         Bad{"--workers 2 --mtu 100", "--mtu"}, Bad{"--workers 2 --delay soon", "'soon' is no delay"},
                         Bad{"--workers 2 --burst 10", "a frame of 1514 must fit"},
                         Bad{"--workers 2 --congestion none", "a congestion control 'none'"},
                         Bad{"--workers 2 --loopback-pacing --once", "mean nothing with --loopback-pacing"}}) {
    CAPTURE(bad.arguments);
    const Outcome outcome = cerar(folder, std::string("netlab ") + bad.arguments + " -- true");
    CAPTURE(outcome.err);
    CHECK(outcome.status != 0);
    CHECK(outcome.status != 77);
    CHECK(contains(outcome.err, bad.expected));
  }
}

TEST_CASE("connections on the loopback can be paced without any privileges") {
  const Folder folder;
  // 2 workers send 16 MB each per sum: 64 ms at 2 Gbit/s are the least that paced ones can take.
  const Outcome paced =
      cerar(folder, std::string("netlab --workers 2 --rate 2Gbit --loopback-pacing -- '") + CERAR_PROGRAM +
                        "' bench --algorithms exact --sizes 16M --iterations 3 --warmup 1 --json "
                        "paced.json");
  REQUIRE_MESSAGE(paced.status == 0, paced.err);
  const std::string report = testing::contents(folder / "paced.json");
  const auto place = report.find("\"time_min_us\": ");
  REQUIRE(place != std::string::npos);
  CHECK(std::stod(report.substr(place + 15)) > 50'000);
}

}  // namespace cerar
