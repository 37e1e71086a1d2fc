#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace cerar {

/// Grey images with their classes, as bytes: four times smaller than floats, and a batch is converted when it is drawn.
struct LabelledImages {
  std::int64_t pixels = 0;            ///< of one image
  std::vector<std::uint8_t> images;   ///< count() x pixels, row-major; 0 black .. 255 white
  std::vector<std::uint8_t> classes;  ///< count() numbers in 0 .. 9

  [[nodiscard]] std::int64_t count() const noexcept { return static_cast<std::int64_t>(classes.size()); }
};

struct FashionMnist {
  LabelledImages training;  ///< 60,000 images of 28 x 28
  LabelledImages test;      ///< 10,000
};

/// Where the Debian package dataset-fashion-mnist puts its four files.
inline constexpr const char* default_fashion_mnist_directory = "/usr/share/datasets/fashion-mnist";

/// Reads {train,t10k}-{images-idx3,labels-idx1}-ubyte.gz. Any number of images of 28 x 28 is accepted, so a smaller set
/// in the same format works too.
/// @throws FileError naming the file, and what to install if it is missing; a file that is cut short, is of another
/// format
///   or image size, goes on after its last value, holds a class above 9, or has no partner of the same count
[[nodiscard]] FashionMnist read_fashion_mnist(const std::filesystem::path& directory);

}  // namespace cerar
