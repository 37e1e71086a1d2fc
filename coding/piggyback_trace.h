#pragma once

#include "coding/piggyback.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace cerar {

/// A message of the piggyback ring in symbols, for a chain m: M_{whole,m} + d (b of group `riding` from `workers`), of
/// which either part may be missing. b_g is a worker's contribution, eq. 2 of docs/piggyback.md; M_g the sum of all
/// workers' b_g.
struct PiggybackSymbols {
  std::optional<std::int64_t> whole;   ///< g of the complete sum M_g that is being handed round
  std::optional<std::int64_t> riding;  ///< g of the partial sum: alone in pass 0, afterwards scaled by d beside M_{g-1}
  std::vector<std::int64_t> workers;   ///< whose b_g are in the partial sum, oldest first

  friend bool operator==(const PiggybackSymbols&, const PiggybackSymbols&) = default;
};

enum class PiggybackAction {
  add,        ///< pass 0: r + b_0, by the leader too
  superpose,  ///< role w < N - 1: r + d b_g
  lead,       ///< the leader: (r - M_{g-1}) / d + b_g
  forward,    ///< pass q: r
  read,       ///< round L + 1: nothing is sent
};

/// What one worker does in round t: reads what it received in round t - 1, then sends.
struct PiggybackStep {
  std::int64_t worker = 0;
  PiggybackRole serving;      ///< chain, role and pass, as piggyback_role says
  PiggybackSymbols received;  ///< r, what its predecessor sent in round t - 1; nothing in round 1
  PiggybackAction action = PiggybackAction::add;
  PiggybackSymbols sent;                ///< nothing in round L + 1
  std::optional<std::int64_t> learned;  ///< g: y_g is read off r or, by the leader, known as M_g
  std::vector<std::int64_t> finished;   ///< groups whose sum S_g is final now (eq. 4), on this chain
};

struct PiggybackTrace {
  RingShape shape;
  std::vector<std::vector<PiggybackStep>> rounds;  ///< rounds[t - 1][i], t = 1 .. L + 1
};

/// Runs the piggyback ring on symbols, all N workers, one round after the other. That every M_g is the sum of all
/// workers is a result of this, not an ingredient.
///
/// @throws std::invalid_argument naming the number, if c is no multiple of N, the code is the exact ring (q = 1 or
/// N <= 2), or the schedule has more than max_trace_terms symbols (coding/trace.h)
/// @throws std::logic_error if a leader is handed anything else than what it needs
[[nodiscard]] PiggybackTrace trace_piggyback(const RingShape& shape);

}  // namespace cerar
