#include "experiments/text_table.h"

#include <fmt/core.h>

#include <algorithm>

namespace cerar {

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::size_t width = widths.empty() ? 0 : 2 * (widths.size() - 1);
  for (const std::size_t column : widths) {
    width += column;
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = row.empty() ? std::string(width, '-') : "";
    for (std::size_t column = 0; column < row.size(); ++column) {
      line += column == 0 ? fmt::format("{:<{}}", row[column], widths[column])
                          : fmt::format("  {:>{}}", row[column], widths[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace cerar
