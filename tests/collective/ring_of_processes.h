#pragma once

#include "collective/communicator.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cerar::testing {

/// What became of one rank: a real process of its own.
struct RankResult {
  int status = 0;             ///< exit status, or 128 + the signal that ended it
  std::string error;          ///< text of the exception the rank ended with
  std::vector<float> values;  ///< what its body returned
  Statistics statistics;
  double seconds = 0;  ///< from the start of the process to its end
};

using RankBody = std::function<std::vector<float>(Communicator&)>;

/// Forks N processes that meet on a free port of 127.0.0.1 and run `body`.
/// @param adjust  called in each process; changes its options before it joins, e.g. to give it a wrong secret
[[nodiscard]] std::vector<RankResult> run_ring(std::int64_t workers, const RankBody& body,
                                               const std::function<void(CommunicatorOptions&)>& adjust = {});

/// Seeded N(0,1)-like values of rank `rank`, the same in every process.
[[nodiscard]] std::vector<float> gradient_of(std::int64_t rank, std::size_t values, std::uint64_t seed);

/// A port of 127.0.0.1 that was free a moment ago.
[[nodiscard]] std::uint16_t free_port();

}  // namespace cerar::testing
