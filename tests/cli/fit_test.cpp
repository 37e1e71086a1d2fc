#include "coding/code_file.h"
#include "optimize/family.h"
#include "tests/coding/support.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>

namespace cerar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using testing::cerar;
using testing::contents;
using testing::Outcome;

TEST_CASE("fit writes a code file and a table, show explains it") {
  const test::TemporaryFolder folder;
  const Outcome fitted = cerar(folder, "fit --workers 4 --chunks 12 -o code.json");
  CHECK(fitted.status == 0);
  CHECK(fitted.err.empty());
  for (const char* text : {"overlapped code for 4 workers and 12 chunks", "1.1667", "22.2 % fewer bytes",
                           "predicted relative error", "simulated in float32", "code.json"}) {
    CHECK(fitted.out.find(text) != std::string::npos);
  }
  const Code code = read_shift_code_file(folder / "code.json");
  CHECK(code.shape == RingShape{4, 12});
  const Outcome shown = cerar(folder, "show code.json");
  CHECK(shown.status == 0);
  CHECK(shown.out.starts_with("code.json: overlapped code for 4 workers and 12 chunks"));
  CHECK(shown.out.find("own-exact, from the 14 vectors received in rounds 1 .. 14") != std::string::npos);
}

TEST_CASE("fit --json has the documented keys, and show --json agrees") {
  const test::TemporaryFolder folder;
  const Outcome fitted = cerar(folder, "fit --workers 4 --chunks 12 --json -o code.json");
  REQUIRE(fitted.status == 0);
  const json report = json::parse(fitted.out);
  for (const char* key :
       {"workers", "chunks", "rounds", "rate", "exact_ring_rate", "construction", "wire", "predicted_relative_error",
        "simulated_relative_error", "phi", "kappa_max", "seconds", "file"}) {
    CAPTURE(key);
    CHECK(report.contains(key));
  }
  CHECK(report.at("rounds") == 14);
  CHECK(report.at("rate").get<double>() == doctest::Approx(14.0 / 12));
  CHECK(report.at("exact_ring_rate") == 1.5);
  CHECK(report.at("construction") == "overlapped");
  CHECK(report.at("wire") == "f32");
  CHECK(report.at("file") == "code.json");
  const double simulated = report.at("simulated_relative_error").get<double>();
  CHECK(simulated <= 0.00022);
  CHECK(report.at("predicted_relative_error").get<double>() == doctest::Approx(simulated).epsilon(0.15));

  const json shown = json::parse(cerar(folder, "show code.json --json").out);
  for (const char* key :
       {"predicted_relative_error", "simulated_relative_error", "phi", "kappa_max", "hash", "parameters"}) {
    CHECK(shown.at(key) == report.at(key));
  }
}

TEST_CASE("without -o nothing is written and the file is null") {
  const test::TemporaryFolder folder;
  const Outcome fitted = cerar(folder, "fit --workers 4 --chunks 5 --construction cyclic --json");
  CHECK(fitted.status == 0);
  CHECK(json::parse(fitted.out).at("file").is_null());
  CHECK(fs::is_empty(folder / ""));
}

TEST_CASE("every construction and every odd shape is fitted and shown") {
  const test::TemporaryFolder folder;
  for (const std::string_view name : construction_names()) {
    CAPTURE(name);
    const int chunks = name == "ring" ? 3 : 5;
    const Outcome fitted =
        cerar(folder, fmt::format("fit --workers 3 --chunks {} --construction {} --seed 4 -o code.json", chunks, name));
    CHECK(fitted.status == 0);
    CHECK(cerar(folder, "show code.json").status == 0);
  }
  for (const char* shape :
       {"--workers 1 --chunks 1", "--workers 1 --chunks 4", "--workers 2 --chunks 2", "--workers 2 --chunks 7",
        "--workers 4 --chunks 4", "--workers 16 --chunks 17", "--workers 4 --chunks 8 --decoder paper",
        "--workers 4 --chunks 8 --first-kept-round 2", "--workers 4 --chunks 8 --correlation 0.5"}) {
    CAPTURE(shape);
    const Outcome fitted = cerar(folder, fmt::format("fit {} --json -o code.json", shape));
    CHECK(fitted.status == 0);
    CHECK(json::parse(fitted.out).at("predicted_relative_error").is_number());
    CHECK(cerar(folder, "show code.json").status == 0);
    CHECK(json::parse(cerar(folder, "show code.json --json").out).at("simulated_relative_error").is_number());
  }
}

TEST_CASE("bad input ends in one sentence that says what to do, and a failing status") {
  const test::TemporaryFolder folder;
  struct Bad {
    const char* arguments;
    const char* expected;
  };
  for (const Bad& bad : {
           Bad{"fit --workers 4 --chunks 3", "chunks is 3 with 4 workers"},
           Bad{"fit --workers 0 --chunks 3", "workers is 0"},
           Bad{"fit --workers -4 --chunks 12", "workers is -4"},
           Bad{"fit --workers 4 --chunks 0", "chunks is 0"},
           Bad{"fit --workers 4 --chunks -12", "chunks is -12"},
           Bad{"fit --workers 4", "--chunks is missing"},
           Bad{"fit --workers four --chunks 12", "--workers"},
           Bad{"fit --workers 4.5 --chunks 12", "--workers"},
           Bad{"fit --workers 99999999999999999999 --chunks 12", "workers"},
           Bad{"fit --workers 10000 --chunks 30000", "take fewer chunks"},
           Bad{"fit --workers 4 --chunks 12 --construction magic",
               "\"magic\" is unknown; the known ones are overlapped"},
           Bad{"fit --workers 4 --chunks 12 --construction ring", "chunks = workers"},
           Bad{"fit --workers 4 --chunks 12 --wire f8",
               "wire \"f8\" is unknown; the known ones are f32, f16, bf16, i16, i32"},
           Bad{"fit --workers 4 --chunks 12 --correlation 1", "correlation is 1"},
           Bad{"fit --workers 4 --chunks 12 --correlation nan", "correlation is nan"},
           Bad{"fit --workers 4 --chunks 12 --decoder best", "decoder \"best\" is unknown"},
           Bad{"fit --workers 4 --chunks 12 --first-kept-round 4", "first_kept_round is 4"},
           Bad{"fit --workers 4 --chunks 12 -o no/such/code.json",
               "no/such/code.json: cannot be written: there is no folder"},
           Bad{"fit --workers 4 --chunks 12 -o .", "it is a folder"},
           Bad{"fit --workers 4 --chunks 12 -o /dev/full", "not a regular file"},
           Bad{"show none.json", "none.json: cannot be read: No such file"},
           Bad{"show .", "it is a folder"},
           Bad{"show", "FILE is required"},
       }) {
    CAPTURE(bad.arguments);
    const Outcome outcome = cerar(folder, bad.arguments);
    CAPTURE(outcome.err);
    CHECK(outcome.status != 0);
    CHECK(outcome.err.find(bad.expected) != std::string::npos);
    CHECK(outcome.out.empty());
  }
  CHECK(fs::is_empty(folder / ""));
}

TEST_CASE("show refuses an edited and a truncated file") {
  const test::TemporaryFolder folder;
  REQUIRE(cerar(folder, "fit --workers 4 --chunks 5 -o code.json").status == 0);
  const std::string text = contents(folder / "code.json");
  std::ofstream(folder / "cut.json") << text.substr(0, text.size() / 2);
  const Outcome cut = cerar(folder, "show cut.json");
  CHECK(cut.status != 0);
  CHECK(cut.err.find("cut.json: field U is no valid JSON") != std::string::npos);
  json document = json::parse(text);
  document["R"][0][0][0] = 0.25;
  std::ofstream(folder / "edited.json") << document.dump();
  const Outcome edited = cerar(folder, "show edited.json");
  CHECK(edited.status != 0);
  CHECK(edited.err.find("edited.json: field content_hash") != std::string::npos);
  CHECK(edited.err.find("fit the code again") != std::string::npos);
}

TEST_CASE("help has an example") {
  const test::TemporaryFolder folder;
  for (const char* command : {"fit", "show"}) {
    const Outcome help = cerar(folder, std::string(command) + " --help");
    CHECK(help.status == 0);
    CHECK(help.out.find("Example: cerar fit --workers 4 --chunks 12 -o code.json") != std::string::npos);
  }
}

}  // namespace
}  // namespace cerar
