#include "experiments/fashion_mnist.h"

#include "../program.h"
#include "coding/error.h"
#include "experiments/idx_file.h"
#include "small_data.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

using namespace cerar;
using cerar::testing::contains;
using cerar::testing::Folder;
using cerar::testing::idx_bytes;
using cerar::testing::random_images;
using cerar::testing::write_gzipped;

namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// What reading the folder fails with.
std::string failure(const Folder& folder) {
  try {
    (void)read_fashion_mnist(folder / "");
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a data set in the format of Fashion-MNIST comes back as it was written") {
  const Folder folder;
  const FashionMnist written{random_images(50, 784, 1), random_images(20, 784, 2)};
  cerar::testing::write_data_set(folder / "", written);
  const FashionMnist read = read_fashion_mnist(folder / "");
  CHECK(read.training.pixels == 784);
  CHECK(read.training.images == written.training.images);
  CHECK(read.training.classes == written.training.classes);
  CHECK(read.test.images == written.test.images);
  CHECK(read.test.classes == written.test.classes);
}

TEST_CASE("each way a data set can be damaged is named with its file") {
  const Folder folder;
  const FashionMnist data{random_images(50, 784, 1), random_images(20, 784, 2)};
  cerar::testing::write_data_set(folder / "", data);
  const auto images = folder / "train-images-idx3-ubyte.gz";
  const auto labels = folder / "train-labels-idx1-ubyte.gz";

  SUBCASE("missing") {
    std::filesystem::remove(labels);
    const std::string text = failure(folder);
    CHECK(contains(text, labels.string()));
    CHECK(contains(text, "dataset-fashion-mnist"));
    CHECK(contains(text, "--data DIR"));
  }
  SUBCASE("the gzip stream is cut") {
    std::filesystem::resize_file(images, std::filesystem::file_size(images) / 2);
    const std::string text = failure(folder);
    CHECK(contains(text, images.string()));
    CHECK(contains(text, "cut short"));
  }
  SUBCASE("no gzip and no IDX at all") {
    write_text(images, "<html>not found</html>");
    CHECK(contains(failure(folder), "magic number"));
  }
  SUBCASE("empty") {
    write_text(images, "");
    CHECK(contains(failure(folder), "inside its header"));
  }
  SUBCASE("fewer values than promised") {
    write_gzipped(images, idx_bytes(0x803, {50, 28, 28}, std::vector<std::uint8_t>(49 * 784)));
    CHECK(contains(failure(folder), "promises 39200 values and 38416 are there"));
  }
  SUBCASE("more values than promised") {
    write_gzipped(images, idx_bytes(0x803, {50, 28, 28}, std::vector<std::uint8_t>(50 * 784 + 1)));
    CHECK(contains(failure(folder), "goes on after"));
  }
  SUBCASE("labels where images should be") {
    write_gzipped(images, idx_bytes(0x801, {50}, std::vector<std::uint8_t>(50)));
    CHECK(contains(failure(folder), "magic number is 0x00000801, expected 0x00000803"));
  }
  SUBCASE("lengths that would need terabytes") {
    write_gzipped(images, idx_bytes(0x803, {0xffffffffU, 0xffffU, 0xffffU}, {}));
    CHECK(contains(failure(folder), "lengths are damaged"));
  }
  SUBCASE("another image size") {
    write_gzipped(images, idx_bytes(0x803, {50, 14, 56}, std::vector<std::uint8_t>(50 * 784)));
    CHECK(contains(failure(folder), "14 x 56"));
  }
  SUBCASE("another number of labels") {
    write_gzipped(labels, idx_bytes(0x801, {49}, std::vector<std::uint8_t>(49)));
    const std::string text = failure(folder);
    CHECK(contains(text, "holds 50 images"));
    CHECK(contains(text, "holds 49 labels"));
  }
  SUBCASE("a class that does not exist") {
    write_gzipped(labels, idx_bytes(0x801, {50}, std::vector<std::uint8_t>(50, 10)));
    CHECK(contains(failure(folder), "label 0 is 10"));
  }
  SUBCASE("no images") {
    write_gzipped(images, idx_bytes(0x803, {0, 28, 28}, {}));
    write_gzipped(labels, idx_bytes(0x801, {0}, {}));
    CHECK(contains(failure(folder), "holds no images"));
  }
}
