#pragma once

#include "experiments/fashion_mnist.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cerar::testing {

/// A folder of its own under the system's temporary folder, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Learnable images: each class is one random picture, each image its class's picture with noise.
[[nodiscard]] LabelledImages random_images(std::int64_t count, std::int64_t pixels, std::uint64_t seed);

/// An IDX file's bytes: magic, lengths, values.
[[nodiscard]] std::vector<std::uint8_t> idx_bytes(std::uint32_t magic, const std::vector<std::uint32_t>& lengths,
                                                  const std::vector<std::uint8_t>& values);

void write_gzipped(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes);

/// Writes the four files of a data set of 28 x 28 images.
void write_data_set(const std::filesystem::path& folder, const FashionMnist& data);

[[nodiscard]] std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace cerar::testing
