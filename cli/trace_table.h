#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cerar::cli {

/// A table of left-aligned text columns. Cells are UTF-8; each counts one column per code point. Long cells wrap at
/// spaces.
class TraceTable {
 public:
  /// `widest[k]` limits column k, in code points; 0 leaves it as wide as its cells.
  TraceTable(std::vector<std::string> titles, std::vector<std::size_t> widest);

  void add(std::vector<std::string> row);

  /// The titles and rows, each line indented by two spaces, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::size_t> widest_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cerar::cli
