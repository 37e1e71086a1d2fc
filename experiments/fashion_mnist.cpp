#include "experiments/fashion_mnist.h"

#include "coding/error.h"
#include "experiments/idx_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

namespace cerar {
namespace {

constexpr std::int64_t side = 28;

LabelledImages read_part(const std::filesystem::path& directory, const std::string& part) {
  const std::filesystem::path images_path = directory / (part + "-images-idx3-ubyte.gz");
  const std::filesystem::path labels_path = directory / (part + "-labels-idx1-ubyte.gz");
  for (const auto& path : {images_path, labels_path}) {
    if (!std::filesystem::exists(path)) {
      throw FileError(fmt::format(
          "{} is missing: install the Debian package dataset-fashion-mnist, or give the folder that holds its files "
          "with --data DIR",
          path.string()));
    }
  }
  IdxArray images = read_idx_file(images_path, 3);
  IdxArray labels = read_idx_file(labels_path, 1);
  if (images.lengths[1] != side || images.lengths[2] != side) {
    throw FileError(fmt::format("{}: images are {} x {}, expected {} x {}", images_path.string(), images.lengths[1],
                                images.lengths[2], side, side));
  }
  if (images.lengths[0] != labels.lengths[0]) {
    throw FileError(fmt::format("{} holds {} images but {} holds {} labels; the two do not belong together",
                                images_path.string(), images.lengths[0], labels_path.string(), labels.lengths[0]));
  }
  if (images.lengths[0] == 0) {
    throw FileError(fmt::format("{}: holds no images", images_path.string()));
  }
  const auto worst = std::max_element(labels.values.begin(), labels.values.end());
  if (*worst > 9) {
    throw FileError(fmt::format("{}: label {} is {}, expected 0 to 9", labels_path.string(),
                                worst - labels.values.begin(), *worst));
  }
  return {side * side, std::move(images.values), std::move(labels.values)};
}

}  // namespace

FashionMnist read_fashion_mnist(const std::filesystem::path& directory) {
  return {read_part(directory, "train"), read_part(directory, "t10k")};
}

}  // namespace cerar
