#include "small_data.h"

#include "experiments/random.h"

#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <stdexcept>
#include <utility>
namespace cerar::testing {

LabelledImages random_images(std::int64_t count, std::int64_t pixels, std::uint64_t seed) {
  constexpr std::uint64_t classes = 10;
  std::vector<std::vector<std::uint8_t>> pictures(classes);
  for (std::uint64_t number = 0; number < classes; ++number) {
    PortableRandom random(0, number);  // the same pictures for training and test
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      pictures[number].push_back(static_cast<std::uint8_t>(random.below(200)));
    }
  }
  LabelledImages data;
  data.pixels = pixels;
  PortableRandom random(seed, 100);
  for (std::int64_t image = 0; image < count; ++image) {
    const std::uint64_t number = random.below(classes);
    data.classes.push_back(static_cast<std::uint8_t>(number));
    for (const std::uint8_t value : pictures[number]) {
      data.images.push_back(static_cast<std::uint8_t>(value + random.below(56)));
    }
  }
  return data;
}

std::vector<std::uint8_t> idx_bytes(std::uint32_t magic, const std::vector<std::uint32_t>& lengths,
                                    const std::vector<std::uint8_t>& values) {
  std::vector<std::uint8_t> bytes;
  const auto add = [&](std::uint32_t number) {
    for (const int shift : {24, 16, 8, 0}) {
      bytes.push_back(static_cast<std::uint8_t>(number >> shift & 0xffU));
    }
  };
  add(magic);
  for (const std::uint32_t length : lengths) {
    add(length);
  }
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

void write_gzipped(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  gzFile file = gzopen(path.c_str(), "wb1");
  const bool failed = file == nullptr || gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) !=
                                             static_cast<int>(bytes.size());
  if (failed || gzclose(file) != Z_OK) {
    throw std::runtime_error(fmt::format("{} cannot be written", path.string()));
  }
}

void write_data_set(const std::filesystem::path& folder, const FashionMnist& data) {
  const std::array<std::pair<const char*, const LabelledImages*>, 2> parts{
      {{"train", &data.training}, {"t10k", &data.test}}};
  for (const auto& [name, part] : parts) {
    const auto count = static_cast<std::uint32_t>(part->count());
    write_gzipped(folder / fmt::format("{}-images-idx3-ubyte.gz", name),
                  idx_bytes(0x803, {count, 28, 28}, part->images));
    write_gzipped(folder / fmt::format("{}-labels-idx1-ubyte.gz", name), idx_bytes(0x801, {count}, part->classes));
  }
}

}  // namespace cerar::testing
