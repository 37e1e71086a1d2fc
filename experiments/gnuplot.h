#pragma once

#include <filesystem>
#include <string>

namespace cerar {

/// Runs gnuplot on `script` and gives its picture the name `png` once it is whole. The script must not set an output or
/// a terminal; both are set for it.
/// @param width, height  of the picture, in pixels
/// @throws FileError if the picture cannot be written, Error if gnuplot is not installed (naming the package) or fails
/// (with
///   the end of what it said)
void draw_with_gnuplot(const std::string& script, const std::filesystem::path& png, int width, int height);

/// `text` as a gnuplot string constant.
[[nodiscard]] std::string gnuplot_quoted(const std::string& text);

}  // namespace cerar
