#include "coding/code.h"

#include "coding/covariance.h"
#include "coding/wire.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string_view>

namespace cerar {
namespace {

void check_matrix(const Eigen::MatrixXd& matrix, std::string_view name, std::size_t worker, std::int64_t rows,
                  std::int64_t columns) {
  if (matrix.rows() != rows || matrix.cols() != columns) {
    throw std::invalid_argument(fmt::format("{}[{}] is {} x {}; this code's shape needs {} x {}", name, worker,
                                            matrix.rows(), matrix.cols(), rows, columns));
  }
  for (Eigen::Index column = 0; column < columns; ++column) {
    for (Eigen::Index row = 0; row < rows; ++row) {
      if (!std::isfinite(matrix(row, column))) {
        throw std::invalid_argument(fmt::format("{}[{}][{}][{}] is {}; every entry must be finite", name, worker, row,
                                                column, matrix(row, column)));
      }
    }
  }
}

void check_matrices(const std::vector<Eigen::MatrixXd>& matrices, std::string_view name, const RingShape& shape,
                    std::int64_t rows) {
  if (static_cast<std::int64_t>(matrices.size()) != shape.workers) {
    throw std::invalid_argument(
        fmt::format("{} has {} matrices; {} workers need one each", name, matrices.size(), shape.workers));
  }
  for (std::size_t worker = 0; worker < matrices.size(); ++worker) {
    check_matrix(matrices[worker], name, worker, rows, shape.chunks);
  }
}

/// Feeds values to xxh3 as little-endian bytes, so that the hash is the same on every machine.
class Hasher {
 public:
  void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      bytes_.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * byte))));
    }
  }
  void add(const Eigen::MatrixXd& matrix) {
    for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
      for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
        add(std::bit_cast<std::uint64_t>(matrix(row, column) + 0.0));  // + 0.0: -0 does what 0 does
      }
    }
  }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

 private:
  std::vector<char> bytes_;
};

}  // namespace

std::vector<std::int64_t> all_rounds(const RingShape& shape) {
  std::vector<std::int64_t> rounds(static_cast<std::size_t>(shape.rounds()));
  std::iota(rounds.begin(), rounds.end(), std::int64_t{1});
  return rounds;
}

void validate(const RingShape& shape) {
  if (shape.workers < 1) {
    throw std::invalid_argument(fmt::format("workers is {}; a ring needs at least 1", shape.workers));
  }
  if (shape.chunks < shape.workers) {
    throw std::invalid_argument(
        fmt::format("chunks is {} with {} workers; the gradient must be cut in at least as many chunks as there are "
                    "workers (chunks = workers is the exact ring)",
                    shape.chunks, shape.workers));
  }
  if (shape.chunks > kMostChunks) {
    throw std::invalid_argument(fmt::format("chunks is {}; at most {} are possible", shape.chunks, kMostChunks));
  }
}

void validate(const NoiseModel& noise, std::int64_t workers) {
  static_cast<void>(find_wire(noise.wire));
  if (noise.covariance.size() > 0) {
    validate_covariance(noise.covariance, workers);
  }
}

void validate(const Code& code) {
  validate(code.shape);
  validate(code.noise, code.shape.workers);
  const std::int64_t first = code.first_kept_round;
  const std::int64_t last_full = std::max<std::int64_t>(1, code.shape.workers - 1);
  if (code.decoder == Decoder::paper) {
    if (code.shape.workers < 2) {
      throw std::invalid_argument("the paper's decoder needs at least 2 workers; take own-exact decoding");
    }
    if (first != last_full) {
      throw std::invalid_argument(fmt::format("first_kept_round is {}; the paper's decoder has {}", first, last_full));
    }
  } else if (first < 1 || first > last_full) {
    throw std::invalid_argument(
        fmt::format("first_kept_round is {}; it must be from 1 (full window) to {}", first, last_full));
  }
  check_matrices(code.encoders, "U", code.shape, code.shape.rounds());
  check_matrices(code.decoders, "R", code.shape, code.kept());
}

std::uint64_t hash(const Code& code) {
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(code.shape.workers));
  hasher.add(static_cast<std::uint64_t>(code.shape.chunks));
  hasher.add(code.decoder == Decoder::own_exact ? 0U : 1U);
  hasher.add(static_cast<std::uint64_t>(code.first_kept_round));
  for (const Eigen::MatrixXd& encoder : code.encoders) {
    hasher.add(encoder);
  }
  for (const Eigen::MatrixXd& decoder : code.decoders) {
    hasher.add(decoder);
  }
  return hasher.value();
}

}  // namespace cerar
