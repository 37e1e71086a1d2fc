#pragma once

#include "coding/code.h"
#include "coding/ring_shape.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace cerar {

/// The symbol delta_{worker,round}: what `worker` encodes for `round` (docs/theory.md, eq. 1). A name, without values.
struct TraceTerm {
  std::int64_t worker = 0;  ///< in [0, N)
  std::int64_t round = 0;   ///< in [1, L]

  friend auto operator<=>(const TraceTerm&, const TraceTerm&) = default;  // NOLINT(modernize-use-nullptr): false alarm
};

/// A vector on the ring as the multiset of terms summed in it, oldest contribution first.
using TraceSum = std::vector<TraceTerm>;

/// A vector that a worker keeps for decoding: one row of its R_i.
struct KeptVector {
  enum class Kind {
    sent,      ///< s_{i,t}, about to be sent
    received,  ///< r_{i,t} = s_{i-1,t}, own contribution inside
    others,    ///< o_{i,t}, own contribution removed
  };
  Kind kind = Kind::others;
  std::int64_t round = 0;  ///< t
  TraceSum sum;

  friend bool operator==(const KeptVector&, const KeptVector&) = default;
};

/// What one worker does in one round t (docs/theory.md, "The rounds").
struct TraceStep {
  std::int64_t worker = 0;           ///< i
  std::int64_t sends_to = 0;         ///< i + 1 modulo N
  std::int64_t receives_from = 0;    ///< i - 1 modulo N
  TraceSum sent;                     ///< s_{i,t}
  TraceSum received;                 ///< r_{i,t} = s_{i-1,t}
  std::optional<TraceTerm> removed;  ///< the returning delta_{i,t-N+1}; none while t < N
  TraceSum others;                   ///< o_{i,t}: `received` without `removed`
  std::vector<KeptVector> kept;      ///< what is put aside for decoding in this round, in the order of R_i's rows
  std::optional<TraceTerm> added;    ///< delta_{i,t+1}, with which s_{i,t+1} = o_{i,t} + delta_{i,t+1}; none in round L
};

/// The protocol of one shape as a schedule of symbols: no gradient, no (U, R), only who sends what to whom.
struct Trace {
  RingShape shape;
  Decoder decoder = Decoder::own_exact;
  std::int64_t first_kept_round = 1;           ///< f
  std::vector<std::vector<TraceStep>> rounds;  ///< rounds[t - 1][i], t = 1 .. L
  /// kept[i]: what worker i decodes from, in the order of R_i's rows. Own-exact: o_{i,f} .. o_{i,L}, L - f + 1 vectors.
  /// The paper's: s_{i,N}, r_{i,N} .. r_{i,L}, c vectors.
  std::vector<std::vector<KeptVector>> kept;
};

/// More symbols than this (N^2 L of them) are refused by trace_protocol: it is a tool to read, and memory is finite.
inline constexpr std::int64_t max_trace_terms = std::int64_t{1} << 22;

/// max(1, N - 1): the last round from which on a worker may begin to keep vectors and still have c of them. The paper's
/// decoder has this one: s_{i,N} is complete when round N - 1 ends.
[[nodiscard]] std::int64_t last_first_kept_round(const RingShape& shape) noexcept;

/// Runs the rounds of docs/theory.md on symbols, all N workers, one round after the other. The closed form
/// s_{i,t} = sum_{k=0}^{min(t,N)-1} delta_{i-k,t-k} is a result of this, not an ingredient.
///
/// @param first_kept_round  f in [1, max(1, N - 1)]; the last of these for the paper's decoder
/// @throws std::invalid_argument naming the number, if the shape does not validate, f is out of range, the paper's
/// decoder
///         is asked for one worker, or the schedule has more than max_trace_terms symbols
[[nodiscard]] Trace trace_protocol(const RingShape& shape, Decoder decoder, std::int64_t first_kept_round);

}  // namespace cerar
