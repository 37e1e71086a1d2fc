#pragma once

#include "coding/code.h"
#include "experiments/study/window_source.h"

#include <filesystem>
#include <functional>
#include <string>
#include <variant>

namespace cerar {

/// Encoders of a user's own, at one fixed point: U_0 .. U_{N-1} and how they are decoded.
struct EncoderSource {
  std::string name;
  RingShape shape;
  Decoder decoder = Decoder::own_exact;
  std::int64_t first_kept_round = 1;
  std::string fingerprint;                   ///< of the file's contents
  std::function<Matrices<Wide>()> encoders;  ///< in the precision of the calling thread
};

/// Reads matrices of a user's own: a code file (its U), or a CSV file without header, each line a matrix's name and one
/// of its rows. B (N rows of c numbers) with H (c rows of c) is a multiplicative perturbation; U0, U1, .. (L rows of c
/// each) are encoders, decoded from the last c vectors. Numbers keep all the digits they are written with; empty lines
/// and lines that start with # do not count.
/// @throws FileError naming file, line and what was expected
[[nodiscard]] std::variant<WindowSource, EncoderSource> read_matrices(const std::filesystem::path& path);

}  // namespace cerar
