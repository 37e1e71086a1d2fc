#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace cerar {

/// An array of bytes in the IDX format of the MNIST family: big-endian magic 0x0000'08'<rank>, the lengths as 32-bit
/// numbers, then the values in row-major order.
struct IdxArray {
  std::vector<std::int64_t> lengths;
  std::vector<std::uint8_t> values;
};

/// Reads an IDX file of unsigned bytes, gzipped or plain.
/// @param rank  number of lengths expected: 3 for images, 1 for labels
/// @throws FileError naming the file: unreadable, another format or rank, shorter or longer than its lengths say
[[nodiscard]] IdxArray read_idx_file(const std::filesystem::path& path, int rank);

}  // namespace cerar
