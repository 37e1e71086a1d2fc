#include "collective/socket.h"
#include "tests/collective/ring_of_processes.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace cerar {
namespace {

using testing::cerar;
using testing::contains;
using testing::contents;
using testing::Folder;
using testing::Outcome;
using Json = nlohmann::json;

Json fitted(const Folder& folder, const std::string& arguments) {
  const Outcome outcome = cerar(folder, "fit " + arguments + " -o code.json --json");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  return Json::parse(outcome.out);
}

Json measured(const Folder& folder, const std::string& arguments) {
  const Outcome outcome = cerar(folder, "bench " + arguments + " --warmup 1 --iterations 2 --json bench.json");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  return Json::parse(contents(folder / "bench.json"));
}

}  // namespace

TEST_CASE("the codes that fit makes show on real processes the errors they promise") {
  struct Promise {
    const char* fit;
    int workers;
    double most;  ///< relative error, as the project's goals state it
  };
  for (const Promise& promise :
       {Promise{"--workers 4 --chunks 12", 4, 2.2e-4}, Promise{"--workers 8 --chunks 24", 8, 3.0e-4},
        Promise{"--workers 4 --chunks 12 --construction cyclic", 4, 2.6e-3}}) {
    CAPTURE(promise.fit);
    const Folder folder;
    const Json fit = fitted(folder, promise.fit);
    const Json report =
        measured(folder, fmt::format("--workers {} --code code.json --algorithms coded --sizes 1M", promise.workers));
    const Json& row = report["rows"][0];
    const double predicted = fit["predicted_relative_error"];
    const double error = row["rel_l2"];
    CHECK(row["wrong"] == 0);
    CHECK(error <= promise.most);
    CHECK(error == doctest::Approx(predicted).epsilon(0.15));
    CHECK(row["rank_div"].get<double>() < 3 * error);
  }
}

TEST_CASE("correlated gradients: the piggyback ring with d chosen for them keeps its promise on real processes") {
  struct Promise {
    int workers, chunks;
    double most;
  };
  for (const Promise& promise : {Promise{4, 16, 0.42e-4}, Promise{8, 64, 0.56e-4}}) {
    CAPTURE(promise.workers);
    const Folder folder;
    const Json fit = fitted(folder, fmt::format("--construction piggyback --workers {} --chunks {} --correlation 0.9",
                                                promise.workers, promise.chunks));
    const Json report = measured(
        folder, fmt::format("--workers {} --code code.json --algorithms piggyback --sizes 4M --correlation 0.9",
                            promise.workers));
    CHECK(report["correlation"] == 0.9);
    const Json& row = report["rows"][0];
    CHECK(row["wrong"] == 0);
    CHECK(row["rel_l2"].get<double>() <= promise.most);
    CHECK(row["rel_l2"].get<double>() == doctest::Approx(fit["predicted_relative_error"].get<double>()).epsilon(0.1));
  }
}

TEST_CASE("rows carry what was sent, to the byte, and every documented key") {
  const Folder folder;
  fitted(folder, "--workers 3 --chunks 6");
  const Json report = measured(folder, "--workers 3 --code code.json --sizes 0,4,40K,1200003");
  REQUIRE(report["rows"].size() == 12);
  for (const Json& row : report["rows"]) {
    for (const char* key : {"algorithm", "workers", "count", "size_bytes", "wire", "time_us", "algbw_gbps",
                            "busbw_gbps", "wrong", "wire_bytes", "rel_l2", "rank_div"}) {
      CHECK(row.contains(key));
    }
    const std::int64_t count = row["count"];
    const std::int64_t header = 48;
    const auto padded = [count](std::int64_t chunks) { return (count + chunks - 1) / chunks * chunks; };
    CHECK(row["wrong"] == 0);
    CHECK(row["wire"] == "f32");
    if (row["algorithm"] == "exact") {
      CHECK(row["wire_bytes"] == 4 * 4 * padded(3) / 3 + header);
      CHECK(row["rel_l2"].get<double>() < 1e-7);
      CHECK(row["rank_div"] == 0.0);
    } else if (row["algorithm"] == "naive") {
      CHECK(row["wire_bytes"] == 4 * 2 * count + header);
    } else {
      CHECK(row["wire_bytes"] == 4 * 7 * padded(6) / 6 + header);
    }
  }
}

TEST_CASE("bench refuses bad input with one sentence and no worker started") {
  const Folder folder;
  fitted(folder, "--workers 3 --chunks 6");
  const auto refuses = [&](const std::string& arguments, const std::string& part) {
    CAPTURE(arguments);
    const Outcome outcome = cerar(folder, "bench " + arguments);
    CHECK(outcome.status != 0);
    CHECK_MESSAGE(contains(outcome.err, part), outcome.err);
    CHECK(outcome.out.empty());
  };
  refuses("--workers 4 --code code.json", "is a code for 3 workers and this job has 4");
  refuses("--workers 2 --algorithms coded", "needs a code");
  refuses("--workers 2 --algorithms fastest", "no algorithm is called 'fastest'");
  refuses("--workers 2 --sizes 4K:1K", "MAX not less than MIN");
  refuses("--workers 2 --sizes many", "sizes look like");
  refuses("--workers -1", "not in range");
  refuses("--workers 2 --iterations 0", "iterations");
  refuses("--workers 2 --correlation 1", "correlation");
  refuses("--workers 3 --code missing.json", "missing.json");
  refuses("--workers 2 --json no/such/folder.json", "no/such");
  refuses("--workers 2 --json .", "it is a folder");
}

TEST_CASE("killing any one worker ends the group: its name on every other rank, its signal as the status") {
  for (int victim = 0; victim < 4; ++victim) {
    CAPTURE(victim);
    const Folder folder;
    const Outcome outcome = cerar(
        folder, fmt::format("launch -n 4 -- sh -c 'if [ $RANK = {} ]; then (sleep 2; kill -9 $$) & fi; exec \"{}\" "
                            "bench --algorithms exact --sizes 1M --iterations 1000000'",
                            victim, CERAR_PROGRAM));
    CHECK(outcome.status == 128 + 9);
    for (int rank = 0; rank < 4; ++rank) {
      if (rank != victim) {
        const std::string line = fmt::format("[{}] cerar: rank {} has vanished", rank, victim);
        CHECK_MESSAGE(contains(outcome.err, line), outcome.err);
      }
    }
    CHECK_MESSAGE(contains(outcome.err, fmt::format("worker {} was ended by signal 9", victim)), outcome.err);
  }
}

TEST_CASE("by hand: a port in use, half an environment, and a wrong secret are said in a sentence") {
  const Folder folder;
  const auto run = [&](const std::string& environment, const std::string& arguments = "bench --sizes 4") {
    return testing::shell(folder, fmt::format("env {} '{}' {}", environment, CERAR_PROGRAM, arguments));
  };
  CHECK(contains(run("RANK=0").err, "no WORLD_SIZE"));
  CHECK(contains(run("WORLD_SIZE=2").err, "no RANK"));
  CHECK(contains(run("RANK=2 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29999").err,
                 "the environment's RANK is '2'"));
  CHECK(contains(run("RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=http").err, "MASTER_PORT is 'http'"));
  CHECK(
      contains(run("RANK=0 WORLD_SIZE=2 MASTER_ADDR=no-such-host.invalid MASTER_PORT=29999").err, "does not resolve"));

  // Another program has the port.
  const Socket listener = listen_on({"127.0.0.1", 0});
  const std::uint16_t taken = local_endpoint(listener).port;
  const Outcome busy = run(fmt::format("RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={}", taken));
  CHECK(busy.status != 0);
  CHECK_MESSAGE(contains(busy.err, fmt::format("127.0.0.1:{}: the port is in use", taken)), busy.err);

  const Outcome secret = testing::shell(
      folder,
      fmt::format("export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={1}; {{ env RANK=0 CERAR_SECRET=one '{0}' "
                  "bench --sizes 4 --timeout 3 2> zero & }}; env RANK=1 CERAR_SECRET=two '{0}' bench --sizes 4 "
                  "--timeout 3 > /dev/null; wait; cat zero",
                  CERAR_PROGRAM, testing::free_port()));
  CHECK_MESSAGE(contains(secret.err, "rank 1 was not admitted"), secret.err);
  CHECK_MESSAGE(contains(secret.err, "secrets differ"), secret.err);
  CHECK_MESSAGE(contains(secret.out, "did not meet rank 1"), secret.out);
  CHECK_MESSAGE(contains(secret.out, "secrets differ"), secret.out);
}

}  // namespace cerar
