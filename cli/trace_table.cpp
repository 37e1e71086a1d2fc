#include "cli/trace_table.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace cerar::cli {
namespace {

using Lines = std::vector<std::string>;

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

Lines wrapped(const std::string& cell, std::size_t widest) {
  if (widest == 0 || width(cell) <= widest) {
    return {cell};
  }
  Lines lines(1);
  std::istringstream words(cell);
  for (std::string word; words >> word;) {
    const bool full = !lines.back().empty() && width(lines.back()) + 1 + width(word) > widest;
    if (full && word != "+") {  // a plus stays with the term before it
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

}  // namespace

TraceTable::TraceTable(std::vector<std::string> titles, std::vector<std::size_t> widest) : widest_(std::move(widest)) {
  widest_.resize(titles.size(), 0);
  rows_.push_back(std::move(titles));
}

void TraceTable::add(std::vector<std::string> row) {
  row.resize(widest_.size());
  rows_.push_back(std::move(row));
}

std::string TraceTable::text() const {
  std::vector<std::vector<Lines>> cells;
  std::vector<std::size_t> widths(widest_.size(), 0);
  for (const auto& row : rows_) {
    auto& broken = cells.emplace_back();
    for (std::size_t k = 0; k < row.size(); ++k) {
      broken.push_back(wrapped(row[k], widest_[k]));
      for (const std::string& line : broken.back()) {
        widths[k] = std::max(widths[k], width(line));
      }
    }
  }
  std::string text;
  for (const auto& row : cells) {
    std::size_t height = 0;
    for (const Lines& cell : row) {
      height = std::max(height, cell.size());
    }
    for (std::size_t n = 0; n < height; ++n) {
      std::string line;
      for (std::size_t k = 0; k < row.size(); ++k) {
        const std::string& part = n < row[k].size() ? row[k][n] : std::string();
        line += "  " + part + std::string(widths[k] - width(part), ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace cerar::cli
