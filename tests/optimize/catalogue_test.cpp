#include "optimize/catalogue.h"

#include "coding/code_file.h"
#include "coding/conditioning.h"
#include "coding/prediction.h"
#include "coding/simulation.h"
#include "tests/program.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace cerar {
namespace {

std::string unpacked(const std::string& name) {
  const std::string path = std::string(CERAR_CATALOGUE "/") + name;
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE_MESSAGE(file != nullptr, path);
  std::string text;
  std::vector<char> part(1 << 16);
  int got = 0;
  while ((got = gzread(file, part.data(), static_cast<unsigned>(part.size()))) > 0) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  REQUIRE(gzclose(file) == Z_OK);
  REQUIRE(got == 0);
  return text;
}

Code read(const CatalogueEntry& entry, const testing::Folder& folder) {
  std::ofstream(folder / "code.json") << unpacked(entry.file());
  return read_shift_code_file(folder / "code.json");
}

TEST_CASE("the catalogue has every shape and wire once") {
  CHECK(catalogue().size() == 120);
  for (std::int64_t workers = 2; workers <= 16; ++workers) {
    for (const std::int64_t chunks : {workers + 1, 2 * workers, 3 * workers, 4 * workers}) {
      for (const char* wire : {"f32", "i32"}) {
        CAPTURE(workers);
        CAPTURE(chunks);
        const CatalogueEntry* entry = find_in_catalogue({workers, chunks}, wire);
        REQUIRE(entry != nullptr);
        CHECK(entry->file() == fmt::format("{}-{}-{}.json.gz", workers, chunks, wire));
      }
    }
  }
  CHECK(find_in_catalogue({4, 13}, "f32") == nullptr);
  CHECK(find_in_catalogue({4, 12}, "f16") == nullptr);
}

TEST_CASE("every code file of the catalogue is whole and is the one that its index describes") {
  const testing::Folder folder;
  for (const CatalogueEntry& entry : catalogue()) {
    CAPTURE(entry.file());
    const Code code = read(entry, folder);
    CHECK(code.shape == entry.shape);
    CHECK(code.noise.wire == entry.wire);
    CHECK(code.noise.correlation == 0);
    CHECK(code.decoder == Decoder::own_exact);
    CHECK(code.construction.name == entry.construction);
    CHECK(code.predicted_relative_error == entry.predicted_relative_error);
    CHECK(code.simulated_relative_error == entry.simulated_relative_error);
    CHECK(fmt::format("{:016x}", hash(code)) == entry.hash);
  }
}

TEST_CASE("codes of the catalogue are as good as they say, on gradients they have not seen") {
  const testing::Folder folder;
  const std::uint64_t seed = std::random_device()();
  MESSAGE("seed " << seed);
  std::mt19937_64 engine(seed);
  std::vector<CatalogueEntry> sample;
  std::sample(catalogue().begin(), catalogue().end(), std::back_inserter(sample), 16, engine);
  for (const CatalogueEntry& entry : sample) {
    CAPTURE(entry.file());
    const Code code = read(entry, folder);
    CHECK(simulate_mean(code, 240'000, 1000, 2) ==
          doctest::Approx(entry.simulated_relative_error).epsilon(0.05).scale(0));
    CHECK(predict_error(code).relative == doctest::Approx(entry.predicted_relative_error).epsilon(0.01).scale(0));
    CHECK(kappa_max(code) == doctest::Approx(entry.kappa_max).epsilon(0.01).scale(0));
  }
}

}  // namespace
}  // namespace cerar
