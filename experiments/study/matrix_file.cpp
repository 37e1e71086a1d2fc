#include "experiments/study/matrix_file.h"

#include "coding/code_file.h"
#include "coding/error.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <vector>

namespace cerar {
namespace {

/// Rows of numbers as they were written.
using TextMatrix = std::vector<std::vector<std::string>>;

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw FileError(fmt::format("{}: cannot be read; give a code file or a CSV file of matrices", path.string()));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

/// FNV-1a, 64 bits: enough to tell a changed file from the one a study was begun with.
std::string fingerprint_of(const std::string& contents) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : contents) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return fmt::format("{:016x}", hash);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char letter : line) {
    if (letter == ',') {
      cells.emplace_back();
    } else if (std::isspace(static_cast<unsigned char>(letter)) == 0) {
      cells.back() += letter;
    }
  }
  return cells;
}

void require_number(const std::string& text, const std::string& file, int line) {
  try {
    if (isfinite(Wide(text))) {
      return;
    }
  } catch (const std::exception&) {  // said below
  }
  throw FileError(fmt::format("{}, line {}: \"{}\" is no finite number", file, line, text));
}

std::map<std::string, TextMatrix> parse(const std::string& contents, const std::string& file) {
  std::map<std::string, TextMatrix> matrices;
  std::istringstream stream(contents);
  int number = 0;
  std::size_t columns = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    std::vector<std::string> cells = cells_of(line);
    if (cells.front().empty() && cells.size() == 1) {
      continue;
    }
    if (cells.front().starts_with('#')) {
      continue;
    }
    const std::string name = cells.front();
    cells.erase(cells.begin());
    columns = columns == 0 ? cells.size() : columns;
    if (cells.empty() || cells.size() != columns) {
      throw FileError(
          fmt::format("{}, line {}: a row of {} has {} numbers, the first line has {}; every row has one for "
                      "each of the c chunks",
                      file, number, name, cells.size(), columns));
    }
    for (const std::string& cell : cells) {
      require_number(cell, file, number);
    }
    matrices[name].push_back(std::move(cells));
  }
  return matrices;
}

Matrix<Wide> to_matrix(const TextMatrix& text) {
  Matrix<Wide> matrix(static_cast<Eigen::Index>(text.size()), static_cast<Eigen::Index>(text.front().size()));
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
      matrix(row, column) = Wide(text[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)]);
    }
  }
  return matrix;
}

WindowSource perturbation_source(const TextMatrix& base, const TextMatrix& direction, const std::string& file,
                                 const std::string& fingerprint) {
  const std::size_t chunks = base.front().size();
  if (direction.size() != chunks || base.size() > chunks || base.size() < 2) {
    throw FileError(fmt::format("{}: B has {} rows and H {}, both of {} numbers; B needs 2 to c rows and H c = {}",
                                file, base.size(), direction.size(), chunks, chunks));
  }
  const RingShape shape{static_cast<std::int64_t>(base.size()), static_cast<std::int64_t>(chunks)};
  return {file, shape, false, fingerprint, [shape, base, direction](std::uint64_t) {
            return perturbation_windows<Wide>(shape, {to_matrix(base), to_matrix(direction)});
          }};
}

EncoderSource encoder_source(const std::map<std::string, TextMatrix>& matrices, const std::string& file,
                             const std::string& fingerprint) {
  const auto workers = static_cast<std::int64_t>(matrices.size());
  std::vector<TextMatrix> encoders;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    const auto found = matrices.find(fmt::format("U{}", worker));
    if (found == matrices.end()) {
      std::vector<std::string> names;
      for (const auto& matrix : matrices) {
        names.push_back(matrix.first);
      }
      throw FileError(fmt::format("{}: holds matrices named {}; it needs B and H, or U0, U1, .. one a worker", file,
                                  fmt::join(names, ", ")));
    }
    encoders.push_back(found->second);
  }
  const RingShape shape{workers, static_cast<std::int64_t>(encoders.front().front().size())};
  for (std::size_t worker = 0; worker < encoders.size(); ++worker) {
    if (workers < 2 || shape.chunks < workers || static_cast<std::int64_t>(encoders[worker].size()) != shape.rounds()) {
      throw FileError(
          fmt::format("{}: U{} has {} rows of {} numbers; {} workers need at least {} numbers a row and c + N - "
                      "2 = {} rows, one a round",
                      file, worker, encoders[worker].size(), shape.chunks, workers, std::max<std::int64_t>(2, workers),
                      shape.rounds()));
    }
  }
  return {file, shape, Decoder::own_exact, std::max<std::int64_t>(1, workers - 1), fingerprint, [encoders] {
            Matrices<Wide> result;
            for (const TextMatrix& encoder : encoders) {
              result.push_back(to_matrix(encoder));
            }
            return result;
          }};
}

EncoderSource code_source(const std::filesystem::path& path, const std::string& fingerprint) {
  const Code code = read_shift_code_file(path);
  if (code.shape.workers < 2) {
    throw FileError(fmt::format("{}: is for one worker, who has nothing to decode", path.string()));
  }
  return {path.filename().string(), code.shape, code.decoder, code.first_kept_round, fingerprint, [code] {
            Matrices<Wide> result;
            for (const Eigen::MatrixXd& encoder : code.encoders) {
              result.push_back(encoder.cast<Wide>());
            }
            return result;
          }};
}

}  // namespace

std::variant<WindowSource, EncoderSource> read_matrices(const std::filesystem::path& path) {
  const std::string contents = contents_of(path);
  const std::string fingerprint = fingerprint_of(contents);
  const std::size_t first = contents.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && contents[first] == '{') {
    return code_source(path, fingerprint);
  }
  const std::string file = path.filename().string();
  const std::map<std::string, TextMatrix> matrices = parse(contents, file);
  if (matrices.empty()) {
    throw FileError(fmt::format("{}: is empty; it needs B and H, or U0, U1, .. one a worker", file));
  }
  if (matrices.size() == 2 && matrices.contains("B") && matrices.contains("H")) {
    return perturbation_source(matrices.at("B"), matrices.at("H"), file, fingerprint);
  }
  return encoder_source(matrices, file, fingerprint);
}

}  // namespace cerar
