#include "optimize/catalogue.h"

#include "optimize/catalogue_index.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace cerar {
namespace {

CatalogueEntry parse(std::string line) {
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream cells(line);
  CatalogueEntry entry;
  cells >> entry.shape.workers >> entry.shape.chunks >> entry.wire >> entry.construction >>
      entry.predicted_relative_error >> entry.simulated_relative_error >> entry.kappa_max >> entry.hash;
  if (!cells) {
    throw std::logic_error(fmt::format("catalogue/index.csv: \"{}\" is no line of it; make it with make.sh", line));
  }
  return entry;
}

}  // namespace

std::string CatalogueEntry::file() const { return fmt::format("{}-{}-{}.json.gz", shape.workers, shape.chunks, wire); }

const std::vector<CatalogueEntry>& catalogue() {
  static const std::vector<CatalogueEntry> entries = [] {
    std::istringstream lines{std::string(catalogue_files::index_csv)};
    std::string line;
    std::getline(lines, line);  // the names of the columns
    std::vector<CatalogueEntry> all;
    while (std::getline(lines, line)) {
      all.push_back(parse(line));
    }
    return all;
  }();
  return entries;
}

const CatalogueEntry* find_in_catalogue(const RingShape& shape, std::string_view wire) {
  const auto found = std::find_if(catalogue().begin(), catalogue().end(),
                                  [&](const auto& entry) { return entry.shape == shape && entry.wire == wire; });
  return found == catalogue().end() ? nullptr : &*found;
}

}  // namespace cerar
