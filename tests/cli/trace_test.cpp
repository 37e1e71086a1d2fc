#include "coding/code_file.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <utility>
#include <vector>

namespace cerar {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::contains;
using testing::contents;
using testing::Folder;
using testing::Outcome;
using testing::shell;

Outcome trace(const Folder& folder, const std::string& arguments) {
  return testing::cerar(folder, "trace " + arguments);
}

Json page_data(const std::string& page) {
  const std::string_view open = "<script type=\"application/json\" id=\"trace-data\">";
  const std::size_t begin = page.find(open);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = page.find("</script>", begin);
  REQUIRE(end != std::string::npos);
  return Json::parse(page.substr(begin + open.size(), end - begin - open.size()));
}

TEST_CASE("trace prints the paper's example round by round") {
  const Folder folder;
  const Outcome run = trace(folder, "--workers 4 --chunks 5");
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(contains(run.out, "rounds L = c + N - 2 = 7, rate L/c = 1.4 (exact ring: 2(N-1)/N = 1.5)"));
  CHECK(contains(run.out, "0 -> 1  δ[0,1]          -                 o[1,1]  δ[1,2]\n"));
  CHECK(contains(run.out, "0 -> 1  δ[1,1] + δ[2,2] + δ[3,3] + δ[0,4]  δ[1,1]            o[1,4]  δ[1,5]\n"));
  CHECK(contains(run.out, "3 -> 0  δ[0,4] + δ[1,5] + δ[2,6] + δ[3,7]  δ[0,4]            o[0,7]  -\n"));
  CHECK(contains(run.out, "ghat[0] = G[0] + (o[0,1] .. o[0,7]) R[0]"));
}

TEST_CASE("trace shows the paper's decoder, one worker, and a short view of a large ring") {
  const Folder folder;
  const Outcome paper = trace(folder, "--workers 4 --chunks 5 --decoder paper --worker 2");
  CHECK(paper.status == 0);
  CHECK(contains(paper.out, "s[2,4] r[2,4]  δ[2,5]\n"));
  CHECK(contains(paper.out, "ghat[2] = (s[2,4] r[2,4] .. r[2,7]) R[2]"));
  const Outcome large = trace(folder, "--workers 16 --chunks 48");
  CHECK(large.status == 0);
  CHECK(contains(large.out, "Worker 0 of 16 is shown"));
  CHECK(std::count(large.out.begin(), large.out.end(), '\n') < 80);
  const Outcome all = trace(folder, "--workers 16 --chunks 48 --all");
  CHECK(std::count(all.out.begin(), all.out.end(), '\n') > 16 * 62);
  CHECK(trace(folder, "--workers 1 --chunks 1").status == 0);
  CHECK(trace(folder, "--workers 2 --chunks 2").status == 0);
}

TEST_CASE("trace --json holds every worker's steps, or one's") {
  const Folder folder;
  const Json json = Json::parse(trace(folder, "--workers 3 --chunks 7 --first-kept-round 2 --json").out);
  CHECK(json["rounds"] == 8);
  CHECK(json["kept_vectors"] == 7);
  CHECK(json["decoder"] == "own-exact");
  CHECK(json["schedule"].size() == 8);
  const Json& step = json["schedule"][2]["steps"][1];  // round 3, worker 1
  CHECK(step["sent"] == Json::parse("[[2,1],[0,2],[1,3]]"));
  CHECK(step["received"] == Json::parse("[[1,1],[2,2],[0,3]]"));
  CHECK(step["removed"] == Json::parse("[1,1]"));
  CHECK(step["added"] == Json::parse("[1,4]"));
  CHECK(json["decoding"][1]["kept"][1]["sum"] == step["others"]);
  const Json one = Json::parse(trace(folder, "--workers 3 --chunks 7 --first-kept-round 2 --json --worker 1").out);
  CHECK(one["schedule"][2]["steps"] == Json::array({step}));
}

TEST_CASE("the page is self-contained and holds the same data as --json") {
  const Folder folder;
  const Outcome run = trace(folder, "--workers 4 --chunks 5 --json --worker 2 --html page.html");
  CHECK(run.status == 0);
  std::string page = contents(folder / "page.html");
  Json data = page_data(page);
  CHECK(data["selected_worker"] == 2);
  data.erase("selected_worker");
  CHECK(data == Json::parse(trace(folder, "--workers 4 --chunks 5 --json").out));

  const std::string_view svg = "http://www.w3.org/2000/svg";
  for (std::size_t at = page.find(svg); at != std::string::npos; at = page.find(svg)) {
    page.erase(at, svg.size());
  }
  for (const std::string_view outside : {"http:", "https:", "src=", "@import", "import(", "fetch(", "url(/", "//cdn"}) {
    CAPTURE(outside);
    CHECK_FALSE(contains(page, outside));
  }
  for (const std::string_view mark : {"/*style*/", "/*ring*/", "/*panel*/", "/*player*/", "/*data*/"}) {
    CAPTURE(mark);
    CHECK_FALSE(contains(page, mark));
  }
}

TEST_CASE("a page replaces an older one and leaves nothing beside it") {
  const Folder folder;
  std::ofstream(folder / "page.html") << "old";
  CHECK(trace(folder, "--workers 2 --chunks 3 --html page.html").status == 0);
  CHECK(page_data(contents(folder / "page.html"))["workers"] == 2);
  const auto files = std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator());
  CHECK(files == 1);  // page.html
}

TEST_CASE("a code file gives shape, decoder and f, and its encoding vectors are shown") {
  const Folder folder;
  Code code;
  code.shape = {2, 3};
  code.encoders = {Eigen::MatrixXd::Identity(3, 3), 0.25 * Eigen::MatrixXd::Identity(3, 3)};
  code.decoders.assign(2, Eigen::MatrixXd::Ones(3, 3));
  code.construction.name = "by hand";
  write_code_file(code, folder / "code.json");
  const Outcome run = trace(folder, "--code code.json --worker 1");
  CHECK(run.status == 0);
  CHECK(contains(run.out, "2 workers in a ring, 3 chunks, own-exact decoding from 3 vectors"));
  CHECK(contains(run.out, "  u[1,2]   0        0.25     0\n"));
  const Json json = Json::parse(trace(folder, "--code code.json --json --html page.html").out);
  CHECK(json["encoders"][1][1] == Json::parse("[0.0, 0.25, 0.0]"));
  CHECK(page_data(contents(folder / "page.html"))["encoders"] == json["encoders"]);
  CHECK(trace(folder, "--code code.json --workers 2").status != 0);
}

TEST_CASE("trace prints the piggyback ring round by round") {
  const Folder folder;
  const Outcome run = trace(folder, "--construction piggyback --workers 4 --chunks 8");
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(contains(run.out, "rounds L = c + N - 2 = 10, rate L/c = 1.25 (exact ring: 2(N-1)/N = 1.5)"));
  CHECK(contains(run.out, "  1       3      2     1     M0 + d (b1[3] + b1[0] + b1[1])  r + d b1  y0 = r\n"));
  CHECK(contains(run.out, "  0       1      3 leads  1     M1     (r - M0)/d + b1  y1 = M1, final: S0 S1\n"));
  CHECK(contains(run.out, "Round 9 of 10: the last group's sums M1 are handed round"));

  const Outcome one = trace(folder, "--construction piggyback --workers 16 --chunks 64 --worker 3");
  CHECK(one.status == 0);
  CHECK(contains(one.out, "Worker 3: receives from 2, sends to 4"));
  CHECK(contains(one.out, "follow the same pattern"));
  CHECK(std::count(one.out.begin(), one.out.end(), '\n') < 40);
  CHECK(contains(trace(folder, "--construction piggyback --workers 16 --chunks 64").out, "Worker 0 of 16 is shown"));
}

TEST_CASE("a piggyback code file is traced like a shape, with its d, as text and as JSON") {
  const Folder folder;
  REQUIRE(testing::cerar(folder, "fit --construction piggyback --workers 3 --chunks 9 -o code.json").status == 0);
  CHECK(contains(trace(folder, "--code code.json").out, "d = 0.000"));
  const Json json = Json::parse(trace(folder, "--code code.json --json").out);
  CHECK(json["groups"] == 3);
  CHECK(json["d"].get<double>() > 1e-4);
  REQUIRE(json["schedule"].size() == 11);              // L + 1
  const Json& step = json["schedule"][4]["steps"][2];  // round 5, worker 2
  CHECK(step["chain"] == 1);
  CHECK(step["role"] == 1);
  CHECK(step["pass"] == 1);
  CHECK(step["action"] == "superpose");
  CHECK(step["sent"] == Json::parse(R"({"whole": 0, "riding": 1, "workers": [1, 2]})"));
  CHECK(step["learned"] == 0);
  CHECK(json["schedule"][10]["steps"][0]["finished"] == Json::parse("[1, 2]"));
  const Json one = Json::parse(trace(folder, "--code code.json --json --worker 2").out);
  CHECK(one["schedule"][4]["steps"] == Json::array({step}));
}

TEST_CASE("bad requests end in one sentence and a non-zero status") {
  const Folder folder;
  const std::vector<std::pair<std::string, std::string>> requests{
      {"--workers 4 --chunks 3", "chunks is 3"},
      {"--workers 0 --chunks 4", "workers is 0"},
      {"--workers -2 --chunks 4", "workers is -2"},
      {"--workers 4 --chunks -5", "chunks is -5"},
      {"--workers 4", "--chunks"},
      {"", "--workers"},
      {"--workers 4 --chunks 5 --worker 4", "0 to 3"},
      {"--workers 4 --chunks 5 --first-kept-round 4", "from 1"},
      {"--workers 1 --chunks 5 --decoder paper", "at least 2 workers"},
      {"--workers 900 --chunks 9000", "900 workers"},
      {"--workers 65 --chunks 65 --html page.html", "65 workers"},
      {"--workers 4 --chunks 5 --html missing/page.html", "missing"},
      {"--workers 4 --chunks 5 --html .", "folder"},
      {"--code missing.json", "missing.json"},
      {"--construction piggyback --workers 4 --chunks 14", "12 and 16"},
      {"--construction piggyback --workers 2 --chunks 8", "exact ring"},
      {"--construction piggyback --workers 4", "--chunks"},
      {"--construction piggyback --workers 4 --chunks 8 --worker 4", "0 to 3"},
      {"--construction piggyback --workers 4 --chunks 8 --decoder paper", "--decoder"},
      {"--construction piggyback --workers 4 --chunks 8 --html page.html", "--html"},
  };
  for (const auto& request : requests) {
    CAPTURE(request.first);
    const Outcome run = trace(folder, request.first);
    CAPTURE(run.err);
    CHECK(run.status == 1);
    CHECK(run.out.empty());
    CHECK(contains(run.err, request.second));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  }
  CHECK_FALSE(fs::exists(folder / "page.html"));
  CHECK(trace(folder, "--workers many --chunks 5").status != 0);
}

TEST_CASE("the page runs in a browser without an error (set CERAR_BROWSER=chromium to try)") {
  const char* browser = std::getenv("CERAR_BROWSER");
  if (browser == nullptr) {
    MESSAGE("skipped: CERAR_BROWSER is not set");
    return;
  }
  const Folder folder;
  REQUIRE(trace(folder, "--workers 4 --chunks 5 --html page.html").status == 0);
  const Outcome run = shell(
      folder, fmt::format("timeout 60 '{}' --headless --no-sandbox --disable-gpu --enable-logging=stderr "
                          "--user-data-dir=profile --virtual-time-budget=2000 --dump-dom 'file://{}#round=5&worker=2'",
                          browser, (folder / "page.html").string()));
  CHECK(run.status == 0);
  CHECK_FALSE(contains(run.err, "CONSOLE"));
  CHECK(contains(run.out, ">round 5 of 7<"));
  CHECK(contains(run.out, "Kept by worker 2: 4 of 7"));
}

}  // namespace
}  // namespace cerar
