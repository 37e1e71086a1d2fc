#include "coding/code_file.h"

#include "coding/error.h"
#include "tests/coding/support.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace cerar {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void put(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

Code awkward_code() {
  Code code = test::integer_code({3, 5}, Decoder::own_exact, 1, 3);
  code.construction = {"overlapped", {{"delta", 4e-4}, {"eps", 0.1}}, 18446744073709551615ULL};
  code.noise = {"f32", 2.3393035382339847e-08, 0.25};
  code.predicted_relative_error = 1.0 / 3;
  code.encoders[0](0, 0) = 0.1;
  code.encoders[0](0, 1) = std::numeric_limits<double>::denorm_min();
  code.encoders[0](0, 2) = -std::numeric_limits<double>::max();
  code.encoders[0](0, 3) = -0.0;
  code.decoders[2](1, 4) = 3320000.1234567891;
  return code;
}

/// Writes a good file, changes its JSON, and returns the complaint.
std::string complaint(const std::function<void(ordered_json&)>& damage) {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "code.json";
  write_code_file(awkward_code(), path);
  ordered_json document = ordered_json::parse(contents(path));
  damage(document);
  put(path, document.dump());
  try {
    static_cast<void>(read_shift_code_file(path));
  } catch (const FileError& error) {
    const std::string text = error.what();
    CHECK(text.starts_with(path.string() + ": "));
    return text;
  }
  return "no complaint";
}

TEST_CASE("a code file round-trips every field and every bit") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "code.json";
  const Code code = awkward_code();
  write_code_file(code, path);
  const Code back = read_shift_code_file(path);
  CHECK(back.shape == code.shape);
  CHECK(back.decoder == code.decoder);
  CHECK(back.first_kept_round == code.first_kept_round);
  CHECK(back.encoders == code.encoders);
  CHECK(back.decoders == code.decoders);
  CHECK(std::signbit(back.encoders[0](0, 3)));
  CHECK(back.construction.name == code.construction.name);
  CHECK(back.construction.parameters == code.construction.parameters);
  CHECK(back.construction.seed == code.construction.seed);
  CHECK(back.noise.wire == code.noise.wire);
  CHECK(back.noise.eta == code.noise.eta);
  CHECK(back.noise.correlation == code.noise.correlation);
  CHECK(back.predicted_relative_error == code.predicted_relative_error);
  CHECK(hash(back) == hash(code));
  const std::string text = contents(path);
  write_code_file(back, path);
  CHECK(contents(path) == text);
}

/// With the fields that may be missing.
Code measured_code() {
  Code code = awkward_code();
  code.noise.wire = "i16";
  code.noise.covariance.resize(3, 3);
  code.noise.covariance << 1.5, 0.1, -0.2, 0.1, 1.0 / 3, 0.05, -0.2, 0.05, 0.7;
  code.simulated_relative_error = 1.0 / 7;
  return code;
}

TEST_CASE("a measured covariance and a simulated error round-trip, and files without them are as before") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "code.json";
  write_code_file(measured_code(), path);
  const Code back = read_shift_code_file(path);
  CHECK(back.noise.wire == "i16");
  CHECK(back.noise.covariance == measured_code().noise.covariance);
  CHECK(back.simulated_relative_error == measured_code().simulated_relative_error);
  CHECK(hash(back) == hash(awkward_code()));  // neither changes a result

  write_code_file(awkward_code(), path);
  CHECK(ordered_json::parse(contents(path)).at("content_hash") ==
        "7001bc158bb9d9e3");  // of the program that had none of these
  CHECK(read_shift_code_file(path).noise.covariance.size() == 0);
  CHECK_FALSE(read_shift_code_file(path).simulated_relative_error.has_value());
}

TEST_CASE("a bad covariance is refused with its place, and an edit of it is found") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "code.json";
  write_code_file(measured_code(), path);
  const ordered_json good = ordered_json::parse(contents(path));
  const auto complaint_of = [&](const std::function<void(ordered_json&)>& damage) -> std::string {
    ordered_json document = good;
    damage(document);
    put(path, document.dump());
    try {
      static_cast<void>(read_shift_code_file(path));
    } catch (const FileError& error) {
      return error.what();
    }
    return "no complaint";
  };
  struct Damage {
    std::function<void(ordered_json&)> apply;
    const char* expected;
  };
  for (const Damage& damage : std::vector<Damage>{
           {[](auto& d) { d["noise"]["covariance"] = 1; }, "field noise.covariance: it must be a list of 3 rows"},
           {[](auto& d) { d["noise"]["covariance"].erase(2); }, "field noise.covariance: it must be a list of 3 rows"},
           {[](auto& d) { d["noise"]["covariance"][1].erase(2); },
            "field noise.covariance[1]: it must be a list of 3 numbers, one a worker, but has 2"},
           {[](auto& d) { d["noise"]["covariance"][1][2] = nullptr; },
            "field noise.covariance[1][2]: it must be a finite number"},
           {[](auto& d) { d["noise"]["covariance"][1][2] = 0.06; },
            "field noise: the covariance is not symmetric: between workers 1 and 2 it says both 0.06 and 0.05"},
           {[](auto& d) { d["noise"]["covariance"][1][1] = -1; },
            "field noise: the covariance is not positive definite"},
           {[](auto& d) { d["noise"]["covariance"][1][1] = 0.4; }, "field content_hash: "},
           {[](auto& d) { d["noise"].erase("covariance"); }, "field content_hash: "},
           {[](auto& d) { d["noise"]["wire"] = "f8"; }, "field noise: wire \"f8\" is unknown"},
           {[](auto& d) { d["simulated_relative_error"] = "x"; },
            "field simulated_relative_error: it must be a finite"},
           {[](auto& d) { d["simulated_relative_error"] = 0.1; }, "field content_hash: "},
           {[](auto& d) { d.erase("simulated_relative_error"); }, "field content_hash: "},
       }) {
    const std::string text = complaint_of(damage.apply);
    CAPTURE(text);
    CHECK(text.find(damage.expected) != std::string::npos);
  }
}

TEST_CASE("the paper's decoder and a single worker round-trip too") {
  const test::TemporaryFolder folder;
  for (const Code& code :
       {test::integer_code({4, 5}, Decoder::paper, 3, 5), test::integer_code({1, 1}, Decoder::own_exact, 1, 5),
        test::integer_code({1, 3}, Decoder::own_exact, 1, 5)}) {
    write_code_file(code, folder / "code.json");
    CHECK(hash(read_shift_code_file(folder / "code.json")) == hash(code));
  }
}

TEST_CASE("the file's keys are the documented ones") {
  const test::TemporaryFolder folder;
  write_code_file(awkward_code(), folder / "code.json");
  const ordered_json document = ordered_json::parse(contents(folder / "code.json"));
  std::vector<std::string> keys;
  for (const auto& [key, value] : document.items()) {
    keys.push_back(key);
  }
  CHECK(keys == std::vector<std::string>{"version", "algorithm", "workers", "chunks", "decoder", "first_kept_round",
                                         "construction", "parameters", "seed", "noise", "predicted_relative_error",
                                         "content_hash", "U", "R"});
  CHECK(document.at("algorithm") == "shift");
  CHECK(document.at("U").size() == 3);
  CHECK(document.at("U")[0].size() == 6);
  CHECK(document.at("U")[0][0].size() == 5);
  CHECK(document.at("R")[0].size() == 6);
}

TEST_CASE("every field that is missing is named") {
  for (const char* field : {"version", "algorithm", "workers", "chunks", "decoder", "first_kept_round", "construction",
                            "parameters", "seed", "noise", "predicted_relative_error", "content_hash", "U", "R"}) {
    CAPTURE(field);
    const std::string text = complaint([&](ordered_json& document) { document.erase(field); });
    CHECK(text.find(std::string("field ") + field + ": it is missing") != std::string::npos);
  }
  const std::string text = complaint([](ordered_json& document) { document["noise"].erase("eta"); });
  CHECK(text.find("field noise.eta: it is missing") != std::string::npos);
}

TEST_CASE("wrong kinds, shapes and values are named with their place") {
  struct Damage {
    std::function<void(ordered_json&)> apply;
    const char* expected;
  };
  const std::vector<Damage> damages = {
      {[](auto& d) { d["version"] = 2; }, "field version: it is 2, but this program reads version 1"},
      {[](auto& d) { d["version"] = "1"; }, "field version: it must be an integer"},
      {[](auto& d) { d["algorithm"] = "carrier"; }, "field algorithm: \"carrier\" is unknown"},
      {[](auto& d) { d["workers"] = 4; }, "field U: it must be a list of 4 matrices"},
      {[](auto& d) { d["workers"] = 3.5; }, "field workers: it must be an integer, but is 3.5"},
      {[](auto& d) { d["workers"] = 0; }, "workers is 0"},
      {[](auto& d) { d["workers"] = -3; }, "workers is -3"},
      {[](auto& d) { d["workers"] = 18446744073709551615ULL; }, "field workers: it must be an integer"},
      {[](auto& d) { d["chunks"] = 2; }, "chunks is 2 with 3 workers"},
      {[](auto& d) { d["chunks"] = 4000000000000000000LL; }, "at most 1000000000 are possible"},
      {[](auto& d) { d["decoder"] = "magic"; }, "field decoder: \"magic\" is unknown"},
      {[](auto& d) { d["decoder"] = nullptr; }, "field decoder: it must be a text"},
      {[](auto& d) { d["decoder"] = "paper"; }, "field R[0]: it must be a list of 5 rows, but has 6"},
      {[](auto& d) { d["first_kept_round"] = 3; }, "field first_kept_round: it is 3, but must be from 1 to 2"},
      {[](auto& d) { d["construction"] = 7; }, "field construction: it must be a text"},
      {[](auto& d) { d["parameters"] = 7; }, "field parameters: it must be an object"},
      {[](auto& d) { d["parameters"]["delta"] = "x"; }, "field parameters.delta: it must be a finite number"},
      {[](auto& d) { d["seed"] = -1; }, "field seed: it must be an integer from 0 on"},
      {[](auto& d) { d["noise"] = 1; }, "field noise: it must be an object"},
      {[](auto& d) { d["U"] = 5; }, "field U: it must be a list of 3 matrices, one a worker, but is 5"},
      {[](auto& d) { d["U"].erase(1); }, "field U: it must be a list of 3 matrices, one a worker, but has 2"},
      {[](auto& d) { d["U"][1].erase(0); }, "field U[1]: it must be a list of 6 rows, but has 5"},
      {[](auto& d) { d["U"][1][2].erase(0); }, "field U[1][2]: it must be a list of 5 numbers"},
      {[](auto& d) { d["R"][2][5][4] = nullptr; }, "field R[2][5][4]: it must be a finite number, but is null"},
      {[](auto& d) { d["R"][2][5][4] = "1"; }, "field R[2][5][4]: it must be a finite number"},
      {[](auto& d) { d["predicted_relative_error"] = true; }, "field predicted_relative_error: it must be"},
      {[](auto& d) { d["content_hash"] = 5; }, "field content_hash: it must be a text"},
  };
  for (const Damage& damage : damages) {
    const std::string text = complaint(damage.apply);
    CAPTURE(text);
    CHECK(text.find(damage.expected) != std::string::npos);
  }
}

TEST_CASE("any edit that keeps the shape is found by the hash, and the text says what to do") {
  for (const std::function<void(ordered_json&)>& edit : std::vector<std::function<void(ordered_json&)>>{
           [](auto& d) { d["U"][0][0][0] = 0.10000000000000002; }, [](auto& d) { d["R"][2][0][0] = 1e-300; },
           [](auto& d) { d["predicted_relative_error"] = 0.3; }, [](auto& d) { d["seed"] = 5; },
           [](auto& d) { d["construction"] = "cyclic"; }, [](auto& d) { d["noise"]["eta"] = 1e-7; },
           [](auto& d) { d["parameters"]["delta"] = 5e-4; }, [](auto& d) { d["content_hash"] = "0000000000000000"; }}) {
    const std::string text = complaint(edit);
    CAPTURE(text);
    CHECK(text.find("field content_hash: ") != std::string::npos);
    CHECK(text.find("edited or damaged") != std::string::npos);
    CHECK(text.find("fit the code again") != std::string::npos);
  }
}

TEST_CASE("a file cut at any place is refused as a file error") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "code.json";
  write_code_file(awkward_code(), path);
  const std::string whole = contents(path);
  for (std::size_t length = 0; length + 2 < whole.size(); length += 13) {
    put(path, whole.substr(0, length));
    CAPTURE(length);
    CHECK_THROWS_WITH_AS(static_cast<void>(read_shift_code_file(path)), doctest::Contains("code.json"), FileError);
  }
  put(path, whole.substr(0, whole.size() / 2));
  CHECK_THROWS_WITH(static_cast<void>(read_shift_code_file(path)), doctest::Contains("truncated or was edited"));
}

TEST_CASE("what is no code file at all is refused by name") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(static_cast<void>(read_shift_code_file(folder / "none.json")), doctest::Contains("none.json"),
                       FileError);
  CHECK_THROWS_WITH_AS(static_cast<void>(read_shift_code_file(folder / "")), doctest::Contains("folder"), FileError);
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", "is empty"},
      {"not json", "no valid JSON"},
      {"[1, 2]", "no object"},
      {"{}", "field version: it is missing"},
      {R"({"version": )" + std::string(200'000, '[') + std::string(200'000, ']') + "}", "integer, but is a list"},
      {std::string(1'000'000, '['), "no valid JSON"},
      {R"({"version": 1, "U": 1e999})", "field U is no valid JSON"},
      {R"({"version": 1, "R": [NaN]})", "field R is no valid JSON"},
      {std::string("\xff\xfe\x00garbage", 10), "no valid JSON"},
  };
  for (const auto& [text, expected] : texts) {
    put(folder / "bad.json", text);
    CHECK_THROWS_WITH_AS(static_cast<void>(read_shift_code_file(folder / "bad.json")),
                         doctest::Contains(expected.c_str()), FileError);
  }
}

TEST_CASE("writing is all or nothing") {
  const test::TemporaryFolder folder;
  const Code code = awkward_code();
  CHECK_THROWS_WITH_AS(write_code_file(code, folder / "no/such/code.json"), doctest::Contains("no/such"), FileError);
  CHECK_THROWS_WITH_AS(write_code_file(code, folder / ""), doctest::Contains("folder"), FileError);
  CHECK_THROWS_WITH_AS(write_code_file(code, "/dev/null"), doctest::Contains("not a regular file"), FileError);

  // A code that does not validate leaves the old file alone.
  const fs::path path = folder / "code.json";
  write_code_file(code, path);
  const std::string before = contents(path);
  Code bad = code;
  bad.encoders[0](0, 0) = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(write_code_file(bad, path), std::invalid_argument);
  CHECK(contents(path) == before);

  // A link is followed, and no temporary file stays behind.
  fs::create_symlink(path, folder / "link.json");
  write_code_file(test::integer_code({3, 5}, Decoder::own_exact, 1, 9), folder / "link.json");
  CHECK(fs::is_symlink(folder / "link.json"));
  CHECK(contents(path) != before);
  CHECK(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()) == 2);
}

TEST_CASE("an unwritable folder is reported as the system has it") {
  if (::geteuid() == 0) {
    return;  // root may write anywhere
  }
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "locked");
  ::chmod((folder / "locked").c_str(), 0500);
  CHECK_THROWS_WITH_AS(write_code_file(awkward_code(), folder / "locked/code.json"),
                       doctest::Contains("Permission denied"), FileError);
  ::chmod((folder / "locked").c_str(), 0700);
}

}  // namespace
}  // namespace cerar
