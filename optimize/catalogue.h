#pragma once

#include "coding/ring_shape.h"

#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// One line of catalogue/index.csv: a fitted code that is there as <workers>-<chunks>-<wire>.json.gz.
struct CatalogueEntry {
  RingShape shape;
  std::string wire;
  std::string construction;
  double predicted_relative_error = 0;
  double simulated_relative_error = 0;  ///< as the code file states it
  double kappa_max = 0;                 ///< the largest kappa_2(M_i)
  std::string hash;                     ///< of U and R, 16 hexadecimal digits

  /// The file's name in the folder catalogue/.
  [[nodiscard]] std::string file() const;
};

/// The catalogue that this program was built with: own-exact codes for independent gradients, N = 2 .. 16, c = N + 1,
/// 2 N, 3 N and 4 N, for f32 and i32. `catalogue/make.sh` makes it.
[[nodiscard]] const std::vector<CatalogueEntry>& catalogue();

/// @return null if the catalogue has no such code
[[nodiscard]] const CatalogueEntry* find_in_catalogue(const RingShape& shape, std::string_view wire);

}  // namespace cerar
