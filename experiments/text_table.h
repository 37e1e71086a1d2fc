#pragma once

#include <string>
#include <vector>

namespace cerar {

/// Rows of cells set in columns: the first column flush left, the others flush right, two spaces apart.
class TextTable {
 public:
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// A line across the table.
  void add_rule() { rows_.emplace_back(); }

  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cerar
