#pragma once

#include <filesystem>
#include <string_view>

namespace cerar {

/// Replaces the file's contents: a temporary file in the same folder, flushed to the disk, then renamed over `path`. A
/// reader sees the old contents or the new ones, whole; on failure the old file is as it was and no temporary file is
/// left. A symbolic link is followed.
/// @throws FileError if the folder is missing or not writable, or `path` is something other than a regular file
void write_file_atomically(const std::filesystem::path& path, std::string_view contents);

/// Throws what write_file_atomically would, and changes nothing: for finding out before hours go into the contents.
void require_writable(const std::filesystem::path& path);

}  // namespace cerar
