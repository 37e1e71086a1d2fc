#pragma once

#include <string_view>

namespace cerar::catalogue_files {

/// catalogue/index.csv, embedded when the program is built.
extern const std::string_view index_csv;

}  // namespace cerar::catalogue_files
