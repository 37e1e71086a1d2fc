#pragma once

#include "coding/matrix.h"

#include <cstdint>
#include <vector>

namespace cerar {

/// Any linear protocol on a ring: in each of L rounds a worker sends p values, linear in its own gradient and in all it
/// has received before, to the next worker.
struct LinearProtocol {
  std::int64_t workers = 2;
  std::int64_t rounds = 1;                            ///< L
  std::int64_t values = 1;                            ///< p, sent per round
  std::int64_t dimension = 1;                         ///< d, length of a gradient
  std::vector<std::vector<Eigen::MatrixXd>> encode;   ///< [worker][t - 1], p x d: of the own gradient
  std::vector<std::vector<Eigen::MatrixXd>> forward;  ///< [worker][t - 1], p x (t - 1) p: of what was received
};

/// Independent normal entries, scaled so that messages keep the size of gradients.
[[nodiscard]] LinearProtocol random_protocol(std::int64_t workers, std::int64_t rounds, std::int64_t values,
                                             std::int64_t dimension, std::uint64_t seed);

/// Runs the protocol.
/// @param gradients  one a worker, length d
/// @return what each worker has received, length L p
[[nodiscard]] std::vector<Eigen::VectorXd> run_protocol(const LinearProtocol& protocol,
                                                        const std::vector<Eigen::VectorXd>& gradients);

/// Two sets of gradients that worker 0 cannot tell apart (docs/theory.md, "Rate below 1").
struct Confusion {
  std::vector<Eigen::VectorXd> one;    ///< all others hold g, worker 0 nothing
  std::vector<Eigen::VectorXd> other;  ///< all others hold g + v, with || v || = || g ||
  double received_difference = 0;      ///< of what worker 0 receives, relative to its norm: rounding
  double sum_distance = 0;             ///< of the two sums, relative to the first one's norm
};

/// Finds a null vector v of the map from the others' common gradient to what worker 0 receives.
/// @throws std::invalid_argument if L p >= d: then there need not be one
[[nodiscard]] Confusion confuse(const LinearProtocol& protocol, std::uint64_t seed);

}  // namespace cerar
