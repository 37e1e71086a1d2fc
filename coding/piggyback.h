#pragma once

#include "coding/code.h"

#include <bit>
#include <cstdint>
#include <string_view>

namespace cerar {

inline constexpr std::string_view kIntegerWire = "i32";

/// The piggyback ring (docs/piggyback.md): the reduce-scatter of one group of N chunks rides, scaled by a small d, on
/// the messages that hand round the sums of the group before it. c = q N chunks, L = c + N - 2 rounds as in the paper's
/// protocol, but one worker a chain rescales, so no (U, R) describes it.
///
/// noise.wire says what the words are: "f32", or "i32" for the form of coding/piggyback_integer.h.
struct PiggybackCode {
  RingShape shape;  ///< chunks c = q N
  double d = 0;     ///< scale of a group's partial sums on messages of equally large sums; a float32 value, > 0
  /// Whether messages carry four more words, by which the workers agree on a power of two for d wherever neighbouring
  /// groups differ in magnitude. Integer words always adapt, by one word of their own.
  bool adapts_scale = true;
  NoiseModel noise;
  double predicted_relative_error = 0;  ///< as for Code

  /// q: groups of N chunks.
  [[nodiscard]] std::int64_t groups() const noexcept { return shape.chunks / shape.workers; }
  /// Whether the protocol is the exact ring: nothing to superpose for q = 1, nothing to mix up for N <= 2.
  [[nodiscard]] bool is_exact() const noexcept { return groups() == 1 || shape.workers <= 2; }
  [[nodiscard]] bool is_integer() const noexcept { return noise.wire == kIntegerWire; }
};

/// Throws std::invalid_argument, naming the field, unless c is a multiple of N, d a positive float32 value and the
/// wire known; an i32 wire takes scales that adapt and something to superpose.
void validate(const PiggybackCode& code);

/// 64-bit hash (xxh3) of everything that changes a result: shape, d, adapts_scale; of an i32 wire also that, and rho.
[[nodiscard]] std::uint64_t hash(const PiggybackCode& code);

/// The piggyback code for a ring: d from its closed form (docs/piggyback.md, eq. 6), with the predicted error (eq. 5).
/// @param noise  eta of the wire and the gradients' correlation rho
/// @throws std::invalid_argument if c is no multiple of N, naming the two nearest that are
[[nodiscard]] PiggybackCode make_piggyback_code(const RingShape& shape, const NoiseModel& noise,
                                                bool adapts_scale = true);

/// err^2 = (q - 1) / q (k1 d^2 + k2 eta^2 / d^2) (1 - rho) / (1 + (N - 1) rho) ... (docs/piggyback.md, eq. 5), for
/// groups of one magnitude.
/// @return relative error, rms over workers; the wire's own rounding alone where the ring is exact
[[nodiscard]] double predict_piggyback_error(const RingShape& shape, double d, const NoiseModel& noise);

/// How fast the links are, for choosing c.
struct LinkSpeed {
  double latency_seconds = 50e-6;  ///< from sending a message until the neighbour works on it
  double bytes_per_second = 125e6;
};

/// The c that makes (c + N - 2) (latency + 4 values / (c bandwidth)) least, that is, sqrt(4 values (N - 2) / (latency
/// bandwidth)), to the nearest multiple of N in [N, 64 N]: more chunks save bytes, smaller messages cost latency. N for
/// N <= 2, where c makes no difference.
/// @param values  in the vector, > 0
/// @throws std::invalid_argument for numbers that are not positive
[[nodiscard]] std::int64_t piggyback_chunks(std::int64_t workers, std::int64_t values, const LinkSpeed& link);

/// Where worker `worker` stands in round t = 1 .. L + 1 of the protocol; round L + 1 only reads what came in round L.
struct PiggybackRole {
  std::int64_t chain = 0;  ///< m in [0, N): the chunks (g, m) with index g N + m
  std::int64_t role = 0;   ///< w: hops since worker m began the pass
  std::int64_t pass = 0;   ///< g: the group being summed; q for the last N - 2 rounds, which only hand round
};

[[nodiscard]] constexpr PiggybackRole piggyback_role(std::int64_t worker, std::int64_t round,
                                                     std::int64_t workers) noexcept {
  return {wrap(worker - round + 1, workers), (round - 1) % workers, (round - 1) / workers};
}

/// The coefficients of one decoding step S_g = y_g - (own a_{g+1} + next S_{g+1}), and of the premix
/// b_g = a_g + premix a_{g+1} (docs/piggyback.md, eqs. 2 and 4).
struct PiggybackCoefficients {
  double premix = 0;
  double own = 0;
  double next = 0;
};

/// @param mixed       scale with which group g + 1 was mixed into group g's contributions
/// @param superposed  scale with which its partial sums ride on group g's sum
[[nodiscard]] constexpr PiggybackCoefficients piggyback_coefficients(std::int64_t role, std::int64_t workers,
                                                                     double mixed, double superposed) noexcept {
  const auto n = static_cast<double>(workers);
  const double centred = (static_cast<double>(role) - (n - 1) / 2) / n;
  // The leader reads its sum before anything rides on it.
  const double before = role == workers - 1 ? 0 : static_cast<double>(role);
  const double next = (superposed * before - mixed * centred) / (n - 1);
  return {mixed * centred, mixed * centred - next, next};
}

/// The sign of d in a communicator's n-th all-reduce, n >= 0: the Thue-Morse sequence + - - + - + + - ... What leaks
/// between groups has the sign of d, so that over the steps of a training much of it cancels, and does so too for every
/// second or fourth all-reduce, as when a step takes several.
[[nodiscard]] constexpr int piggyback_sign(std::uint64_t operation) noexcept {
  return std::popcount(operation) % 2 == 0 ? 1 : -1;
}

/// The power of two by which d is to be multiplied for a group of l1 norm `next` that rides on one of l1 norm `now`,
/// each summed over all workers: it makes the two groups' relative errors equal. Within 2^-20 .. 2^20; 1 where `next`
/// is zero.
[[nodiscard]] double piggyback_scale(double now, double next) noexcept;

}  // namespace cerar
