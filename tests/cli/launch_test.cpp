#include "tests/program.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace cerar {
namespace {

using testing::cerar;
using testing::contains;
using testing::Folder;
using testing::Outcome;

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  return lines;
}

double seconds_of(const auto& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("launch gives every worker torchrun's environment and prefixes its output") {
  const Folder folder;
  const Outcome outcome =
      cerar(folder,
            "launch -n 3 -- sh -c 'echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR "
            "${MASTER_PORT:+port} ${CERAR_SECRET:+secret} ${TORCHELASTIC_RUN_ID:+id}; "
            "echo trouble >&2; printf unfinished'");
  CHECK(outcome.status == 0);
  CHECK(sorted_lines(outcome.out) == std::vector<std::string>{"[0] 0 3 0 3 127.0.0.1 port secret id", "[0] unfinished",
                                                              "[1] 1 3 1 3 127.0.0.1 port secret id", "[1] unfinished",
                                                              "[2] 2 3 2 3 127.0.0.1 port secret id",
                                                              "[2] unfinished"});
  CHECK(sorted_lines(outcome.err) == std::vector<std::string>{"[0] trouble", "[1] trouble", "[2] trouble"});
}

TEST_CASE("launch ends the whole group when one worker fails, and returns its status") {
  const Folder folder;
  Outcome outcome;
  // The sleepers' own children would keep the pipes open for a minute.
  CHECK(seconds_of([&] {
          outcome = cerar(folder, "launch -n 3 -- sh -c 'if [ $RANK = 1 ]; then exit 7; fi; sleep 60 & wait'");
        }) < 20);
  CHECK(outcome.status == 7);
  CHECK(contains(outcome.err, "worker 1 ended with status 7"));
}

TEST_CASE("a worker that ignores SIGTERM is killed") {
  const Folder folder;
  Outcome outcome;
  CHECK(seconds_of([&] {
          outcome = cerar(folder,
                          "launch -n 2 -- sh -c 'if [ $RANK = 1 ]; then kill -9 $$; fi; trap \"\" TERM; "
                          "while :; do sleep 1; done'");
        }) < 20);
  CHECK(outcome.status == 128 + 9);
  CHECK(contains(outcome.err, "worker 1 was ended by signal 9"));
}

TEST_CASE("a worker that prints without end keeps nobody from ending the job") {
  const Folder folder;
  const Outcome outcome =
      cerar(folder, "launch -n 2 -- sh -c 'if [ $RANK = 1 ]; then sleep 0.3; exit 7; fi; exec yes' | tail -c 100");
  CHECK(contains(outcome.err, "worker 1 ended with status 7"));
}

TEST_CASE("what was ignored before stays ignored, and ignored children do not confuse the launcher") {
  const Folder folder;
  const std::string program = CERAR_PROGRAM;
  CHECK(
      testing::shell(folder, "trap '' HUP; '" + program + "' launch -n 1 -- sleep 1 & sleep 0.3; kill -HUP $!; wait $!")
          .status == 0);
  CHECK(testing::shell(folder, "trap '' CHLD; '" + program + "' launch -n 2 -- true").status == 0);
}

TEST_CASE("signals are passed on, and nobody outlives a killed launcher") {
  const Folder folder;
  SUBCASE("SIGTERM") {
    const Outcome outcome = testing::shell(
        folder, std::string("timeout --signal=TERM 1 '") + CERAR_PROGRAM +
                    "' launch -n 2 -- sh -c 'trap \"echo asked to end; exit 3\" TERM; while :; do sleep 0.1; done'");
    CHECK(sorted_lines(outcome.out) == std::vector<std::string>{"[0] asked to end", "[1] asked to end"});
  }
  SUBCASE("SIGKILL") {
    const std::string unique = fmt::format("54.{}", getpid());  // a duration that nobody else on this host sleeps for
    const Outcome outcome =
        testing::shell(folder, std::string("timeout --signal=KILL 1 '") + CERAR_PROGRAM + "' launch -n 2 -- sleep " +
                                   unique + "; sleep 0.3; pgrep -fc '^sleep " + unique + "' || true");
    CHECK(outcome.out == "0\n");
  }
}

TEST_CASE("launch refuses what cannot be run") {
  const Folder folder;
  for (const char* arguments : {"launch -n 2 -- ./no-such-program", "launch -n 0 -- true", "launch -n 2"}) {
    const Outcome outcome = cerar(folder, arguments);
    CHECK(outcome.status != 0);
    CHECK_FALSE(outcome.err.empty());
  }
  CHECK(contains(cerar(folder, "launch -n 2 -- ./no-such-program").err, "cannot run './no-such-program'"));
}

}  // namespace cerar
