#pragma once

#include "experiments/fashion_mnist.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace cerar::testing {

/// Learnable images: each class is one random picture, each image its class's picture with noise.
[[nodiscard]] LabelledImages random_images(std::int64_t count, std::int64_t pixels, std::uint64_t seed);

/// An IDX file's bytes: magic, lengths, values.
[[nodiscard]] std::vector<std::uint8_t> idx_bytes(std::uint32_t magic, const std::vector<std::uint32_t>& lengths,
                                                  const std::vector<std::uint8_t>& values);

void write_gzipped(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes);

/// Writes the four files of a data set of 28 x 28 images.
void write_data_set(const std::filesystem::path& folder, const FashionMnist& data);

}  // namespace cerar::testing
