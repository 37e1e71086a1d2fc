#pragma once

#include "coding/code.h"
#include "coding/ring_code.h"

#include <filesystem>

namespace cerar {

/// Writes `code` as the JSON code file of docs/code_file.md, atomically: a reader sees the old file or the new one,
/// whole. Doubles round-trip exactly.
/// @throws FileError if the folder is missing or not writable, std::invalid_argument if the code does not validate
void write_code_file(const RingCode& code, const std::filesystem::path& path);

/// Reads a code file and checks it whole: JSON, version, algorithm, every field's presence, shape and finiteness,
/// content hash.
/// @throws FileError naming the file and the field, and what was expected there
[[nodiscard]] RingCode read_code_file(const std::filesystem::path& path);

/// The same for a file that must hold a (U, R) for the paper's protocol; another one is refused with FileError.
[[nodiscard]] Code read_shift_code_file(const std::filesystem::path& path);

}  // namespace cerar
