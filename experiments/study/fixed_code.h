#pragma once

#include "experiments/study/matrix_file.h"
#include "experiments/study/study_hooks.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cerar {

/// Singular values of one matrix, confirmed at twice the digits.
struct FixedMatrix {
  std::string matrix;  ///< A: the kept rounds' rows of U_index, what worker index + 1 inverts for it; M: M_index
  std::int64_t index = 0;
  std::vector<double> values;    ///< largest first
  double kappa_double = 0;       ///< as LAPACK finds it in double; may be infinite
  double kappa_long_double = 0;  ///< by Jacobi rotations in long double

  [[nodiscard]] double kappa() const { return values.front() / values.back(); }
};

struct FixedStudy {
  EncoderSource source;
  int digits = 0;
  std::vector<FixedMatrix> matrices;
};

/// Condition numbers of encoders that do not depend on an eps.
/// @param digits  nothing: as many as it takes for every singular value to agree with the one at twice the digits
/// @return nothing if it was stopped
/// @throws Error if a matrix is singular, naming it, or if `digits` are too few
[[nodiscard]] std::optional<FixedStudy> study_fixed_code(const EncoderSource& source, std::optional<int> digits,
                                                         const std::filesystem::path& folder, const StudyHooks& hooks);

/// Writes singular_values.csv, kappa.csv, summary.json and singular_values.png.
void write_fixed_code(const FixedStudy& study, const std::filesystem::path& folder);

[[nodiscard]] std::string fixed_code_table(const FixedStudy& study);

}  // namespace cerar
