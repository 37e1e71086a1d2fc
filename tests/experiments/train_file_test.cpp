#include "experiments/train_file.h"

#include "../program.h"
#include "coding/error.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

using namespace cerar;
using cerar::testing::contents;
using cerar::testing::Folder;

namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TrainHeader some_header() {
  TrainHeader header;
  header.version = "0.1.0";
  header.workers = 4;
  header.reduce = "coded";
  header.code = CodeFacts{"code.json", "0123456789abcdef", "overlapped", 12, 14, 1.0 / 3.0};
  header.steps = 20;
  header.batch = 64;
  header.optimizer = "sgd";
  header.learning_rate = 0.1;
  header.seed = 18446744073709551615U;
  header.report_error_every = 10;
  header.parameters = 30;
  header.tensor_lengths = {20, 10};
  header.training_images = 60000;
  header.test_images = 10000;
  header.machine = {2, "GCC 12.2.0", "Haswell"};
  return header;
}

TrainSummary some_summary() {
  TrainSummary summary;
  summary.reduce = "coded";
  summary.steps = 20;
  summary.test_accuracy = {0.8731, 0.8732, 0.873, 0.8731};
  summary.seconds = 1.25;
  summary.communication_seconds = 0.1;
  summary.wire_bytes = 1234567890123;
  summary.gradient_error_max = 2e-4 / 3;
  return summary;
}

/// Writes a run of a header, two steps and a summary.
void write_run(const std::filesystem::path& path) {
  TrainFileReporter reporter(path);
  reporter.header(some_header());
  reporter.step({1, 2.3 / 7, 1e-4 / 3, 2e-4 / 3, 1e-6, 949976});
  reporter.step({10, 1.5, std::nullopt, std::nullopt, std::nullopt, 949976});
  reporter.summary(some_summary());
}

std::string failure(const std::filesystem::path& path) {
  try {
    (void)read_train_file(path);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::string text = contents(path);
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.erase(0, end + 1);
  }
  return lines;
}

}  // namespace

TEST_CASE("records come back as they were written, to the last bit") {
  const Folder folder;
  write_run(folder / "run.jsonl");
  const TrainRun run = read_train_file(folder / "run.jsonl");
  CHECK(run.header == some_header());
  REQUIRE(run.steps.size() == 2);
  CHECK(run.steps[0] == TrainStep{1, 2.3 / 7, 1e-4 / 3, 2e-4 / 3, 1e-6, 949976});
  CHECK(run.steps[1] == TrainStep{10, 1.5, std::nullopt, std::nullopt, std::nullopt, 949976});
  REQUIRE(run.summary.has_value());
  CHECK(*run.summary == some_summary());
}

TEST_CASE("every line is an object with the documented type") {
  const Folder folder;
  write_run(folder / "run.jsonl");
  std::vector<std::string> types;
  for (const std::string& line : lines_of(folder / "run.jsonl")) {
    types.push_back(nlohmann::json::parse(line).at("type"));
  }
  CHECK(types == std::vector<std::string>{"header", "step", "step", "summary"});
}

TEST_CASE("an infinite error becomes null and comes back") {
  const TrainStep step{1, 1.0, std::numeric_limits<double>::infinity(), 0.0, 0.0, 0};
  CHECK(nlohmann::json::parse(to_json(step).dump()).at("gradient_error").is_null());
  const Folder folder;
  write_text(folder / "run.jsonl", to_json(some_header()).dump() + "\n" + to_json(step).dump() + "\n");
  CHECK(std::isinf(read_train_file(folder / "run.jsonl").steps.at(0).gradient_error.value()));
}

TEST_CASE("a file has its name only when the run is complete") {
  const Folder folder;
  const auto path = folder / "run.jsonl";
  {
    TrainFileReporter reporter(path);
    reporter.header(some_header());
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(reporter.file().unfinished());
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(lines_of(folder / "run.jsonl.partial").size() == 1);
  CHECK_FALSE(read_train_file(folder / "run.jsonl.partial").summary.has_value());
  write_run(path);
  CHECK(std::filesystem::exists(path));
  CHECK_FALSE(std::filesystem::exists(folder / "run.jsonl.partial"));
}

TEST_CASE("an output that cannot be written is found out at once and leaves nothing behind") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(TrainFileReporter(folder / "none" / "run.jsonl"), doctest::Contains("No such file"), FileError);
  CHECK_THROWS_WITH_AS(TrainFileReporter(folder / ""), doctest::Contains("folder"), FileError);
  CHECK(std::filesystem::is_empty(folder / ""));
}

TEST_CASE("each way a run's file can be damaged is named with its line") {
  const Folder folder;
  const auto path = folder / "run.jsonl";
  write_run(path);
  std::vector<std::string> lines = lines_of(path);
  const auto damaged = [&] {
    std::string text;
    for (const std::string& line : lines) {
      text += line + '\n';
    }
    write_text(path, text);
    return failure(path);
  };
  const auto at_line = [&](int line) { return path.string() + ":" + std::to_string(line) + ":"; };

  SUBCASE("missing") { CHECK(failure(folder / "other.jsonl").find("other.jsonl cannot be read") != std::string::npos); }
  SUBCASE("a folder") { CHECK(failure(folder / "").find("folder") != std::string::npos); }
  SUBCASE("empty") {
    lines.clear();
    CHECK(damaged().find("empty") != std::string::npos);
  }
  SUBCASE("cut in the middle of a line") {
    const std::string text = contents(path);
    write_text(path, text.substr(0, text.size() - 20));
    CHECK(failure(path).find(at_line(4)) == 0);
    CHECK(failure(path).find("cut short") != std::string::npos);
  }
  SUBCASE("no JSON") {
    lines[2] = "step 10";
    CHECK(damaged().find(at_line(3) + " is no JSON") == 0);
  }
  SUBCASE("no object") {
    lines[2] = "[1, 2]";
    CHECK(damaged().find(at_line(3) + " is no JSON object") == 0);
  }
  SUBCASE("no header") {
    lines.erase(lines.begin());
    CHECK(damaged().find(at_line(1) + " the first record is a step") == 0);
  }
  SUBCASE("two runs in one file") {
    lines.push_back(std::string(lines[0]));
    CHECK(damaged().find(at_line(5) + " a second header") == 0);
  }
  SUBCASE("records after the summary") {
    lines.push_back(lines[2]);
    CHECK(damaged().find(at_line(5) + " goes on after the summary") == 0);
  }
  SUBCASE("steps out of order") {
    std::swap(lines[1], lines[2]);
    CHECK(damaged().find(at_line(3) + " step 1 follows step 10") == 0);
  }
  SUBCASE("a field is missing") {
    lines[1] = R"({"type":"step","step":1,"wire_bytes":5})";
    CHECK(damaged() == at_line(2) + " field \"loss\" is missing");
  }
  SUBCASE("a field of another type") {
    lines[1] = R"({"type":"step","step":1,"loss":"low","wire_bytes":5})";
    CHECK(damaged() == at_line(2) + R"( field "loss" holds "low", expected a number)");
  }
  SUBCASE("a negative count") {
    lines[1] = R"({"type":"step","step":-1,"loss":1,"wire_bytes":5})";
    CHECK(damaged().find("expected a whole number") != std::string::npos);
  }
  SUBCASE("a field inside the code") {
    const std::size_t place = lines[0].find("\"chunks\"");
    lines[0].replace(place, 8, "\"chunk\"");
    CHECK(damaged() == at_line(1) + R"( "code": field "chunks" is missing)");
  }
  SUBCASE("another format") {
    const std::size_t place = lines[0].find("\"format\":1");
    lines[0].replace(place, 10, "\"format\":2");
    CHECK(damaged().find("format is 2, this version reads 1") != std::string::npos);
  }
  SUBCASE("a record nobody knows") {
    lines[1] = R"({"type":"epoch"})";
    CHECK(damaged().find(R"(record type "epoch" is unknown)") != std::string::npos);
  }
}
