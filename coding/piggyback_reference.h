#pragma once

#include "coding/matrix.h"
#include "coding/piggyback.h"

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cerar {

/// Sum of |a(x)| over a vector, in the one order that every executor keeps: 16 running sums over the values in turn,
/// then those in ascending order. The scales of the groups follow from it, so it must be the same bits everywhere.
template <class Scalar>
[[nodiscard]] [[gnu::always_inline]] inline Scalar l1_norm(const Scalar* values, std::int64_t count) {
  constexpr std::int64_t kLanes = 16;
  Scalar sums[kLanes] = {};
  const std::int64_t whole = count / kLanes * kLanes;
  for (std::int64_t x = 0; x < whole; x += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      using std::abs;
      sums[k] += abs(values[x + k]);
    }
  }
  for (std::int64_t x = whole; x < count; ++x) {
    using std::abs;
    sums[x - whole] += abs(values[x]);
  }
  Scalar sum = sums[0];
  for (std::int64_t k = 1; k < kLanes; ++k) {
    sum += sums[k];
  }
  return sum;
}

/// What travels on a link: the values and, if scales adapt, four words. On the way each worker adds its own chunks' l1
/// norms, from which the leader chooses the scales of the groups to come.
template <class Scalar>
struct PiggybackMessage {
  Scalar superposed = 0;  ///< d_g of the group g that rides on this message; in pass 0, the l1 norm of group 0 so far
  Scalar mixed = 0;       ///< scale with which group g + 1 is mixed into group g's contributions
  Scalar norm = 0;        ///< l1 norm so far of group g + 2; in pass 0, of group 1
  Scalar norm_after = 0;  ///< in pass 0, l1 norm so far of group 2
  Vector<Scalar> values;
};

/// One worker's part in the protocol of docs/piggyback.md, in place. Its chunk (g, m) is a_g until pass g; then what
/// the own addition rounded off, as it will come back (eq. 7); from pass g + 1 on y_g, at once without its own part of
/// eq. 4; from pass g + 2 on the sum. A leader's is the sum M_g from pass g on.
template <class Scalar>
class PiggybackWorker {
 public:
  /// @param chunks  p x c, column g N + m is chunk (g, m)
  /// @param sign    +1 or -1, of every d; executors alternate it from operation to operation
  PiggybackWorker(const PiggybackCode& code, std::int64_t worker, Matrix<Scalar> chunks, int sign)
      : code_(code),
        workers_(code.shape.workers),
        groups_(code.groups()),
        worker_(worker),
        d_(static_cast<Scalar>(code.d) * Scalar(sign)),
        chunks_(std::move(chunks)),
        scales_(static_cast<std::size_t>(workers_), Scales{d_, d_, d_}) {}

  /// What the worker sends in round t = 1 .. L, having received `message` in round t - 1 (empty values for t = 1); in
  /// round L + 1 it only reads.
  PiggybackMessage<Scalar> serve(std::int64_t round, PiggybackMessage<Scalar> message) {
    const auto [chain, role, pass] = piggyback_role(worker_, round, workers_);
    const bool leads = role == workers_ - 1;
    Scales& scales = scales_[static_cast<std::size_t>(chain)];
    if (pass > 0 && !leads) {
      Vector<Scalar> heard = message.values;
      if (pass > 1) {
        heard += chunk(pass - 1, chain);  // eq. 7
      }
      learn(pass - 1, chain, role, heard);
    }
    if (pass == groups_) {
      return message;
    }
    follow_scales(message, chain, role, pass);
    const Vector<Scalar> own = contribution(pass, chain, role);
    if (pass > 0) {
      unmix_own(pass, chain, role);
    }
    if (pass == 0) {
      message.values = role == 0 ? own : Vector<Scalar>(message.values + own);
    } else if (!leads) {
      const Vector<Scalar> scaled = own * scales.superposed;
      const Vector<Scalar> sum = message.values + scaled;
      // What the addition has rounded off (Fast2Sum, docs/piggyback.md, eq. 7): it will come back multiplied by 1 / d.
      const Vector<Scalar> second = sum - message.values;
      const Vector<Scalar> rounding = scaled - second;
      chunk(pass, chain) = rounding * (Scalar(1) / scales.superposed);
      message.values = sum;
    } else {
      // The leader takes away the very bits it sent a pass ago; what is left is d times this group's sum (eq. 3).
      const Vector<Scalar> riding = message.values - sent_;
      const Vector<Scalar> others = riding * (Scalar(1) / scales.superposed);
      message.values = others + own;
    }
    if (leads) {
      learn(pass, chain, role, message.values);
      sent_ = message.values;
      choose_scales(message, pass);
    }
    return message;
  }

  /// After round L + 1: the sums.
  [[nodiscard]] Matrix<Scalar> take() && { return std::move(chunks_); }

 private:
  struct Scales {
    Scalar superposed;  ///< of the group g of the present pass on group g - 1
    Scalar mixed;       ///< of group g in the contributions to group g - 1
    Scalar mixed_next;  ///< of group g + 1 in the contributions to group g
  };

  auto chunk(std::int64_t group, std::int64_t chain) { return chunks_.col(group * workers_ + chain); }

  Scalar norm(std::int64_t group, std::int64_t chain) {
    return group < groups_ ? l1_norm<Scalar>(chunk(group, chain).data(), chunks_.rows()) : Scalar(0);
  }

  // eq. 2: b_g = a_g + d_{g+1} (w - (N-1)/2)/N a_{g+1}
  Vector<Scalar> contribution(std::int64_t pass, std::int64_t chain, std::int64_t role) {
    if (pass == groups_ - 1) {
      return chunk(pass, chain);
    }
    const Scalar mixed = scales_[static_cast<std::size_t>(chain)].mixed_next;
    const auto premix =
        static_cast<Scalar>(piggyback_coefficients(role, workers_, static_cast<double>(mixed), 0).premix);
    const Vector<Scalar> next = chunk(pass + 1, chain) * premix;
    return chunk(pass, chain) + next;
  }

  [[nodiscard]] PiggybackCoefficients decoding(std::int64_t chain, std::int64_t role) const {
    const Scales& scales = scales_[static_cast<std::size_t>(chain)];
    return piggyback_coefficients(role, workers_, static_cast<double>(scales.mixed),
                                  static_cast<double>(scales.superposed));
  }

  // eq. 4, its first half: what of the own a_g was mixed into the sum of group g - 1 is known once the scales are.
  void unmix_own(std::int64_t group, std::int64_t chain, std::int64_t role) {
    const Vector<Scalar> own = chunk(group, chain) * static_cast<Scalar>(decoding(chain, role).own);
    chunk(group - 1, chain) -= own;
  }

  // Its second half, now that group g's sum is known.
  void learn(std::int64_t group, std::int64_t chain, std::int64_t role, const Vector<Scalar>& sum) {
    if (group > 0) {
      const Vector<Scalar> next = sum * static_cast<Scalar>(decoding(chain, role).next);
      chunk(group - 1, chain) -= next;
    }
    chunk(group, chain) = sum;
  }

  /// Reads the scales off the message and adds the own norms to it.
  void follow_scales(PiggybackMessage<Scalar>& message, std::int64_t chain, std::int64_t role, std::int64_t pass) {
    if (!code_.adapts_scale) {
      return;
    }
    Scales& scales = scales_[static_cast<std::size_t>(chain)];
    if (pass == 0) {
      const Scalar now = norm(0, chain);
      const Scalar next = norm(1, chain);
      if (role == 0) {
        // Nobody knows the others' norms yet: the own ones may make the first premix smaller, never larger.
        message.mixed = d_ * static_cast<Scalar>(
                                 std::min(1.0, piggyback_scale(static_cast<double>(now), static_cast<double>(next))));
        message.superposed = message.norm = message.norm_after = Scalar(0);
      }
      scales.mixed_next = message.mixed;
      message.superposed += now;
      message.norm += next;
      message.norm_after += norm(2, chain);
      return;
    }
    scales.mixed = scales.mixed_next;
    scales.superposed = message.superposed;
    scales.mixed_next = message.mixed;
    message.norm += norm(pass + 2, chain);
  }

  /// The leader's choice for the next pass, from what the message has gathered.
  void choose_scales(PiggybackMessage<Scalar>& message, std::int64_t pass) {
    if (!code_.adapts_scale) {
      return;
    }
    const auto scaled = [this](Scalar now, Scalar next) {
      return d_ * static_cast<Scalar>(piggyback_scale(static_cast<double>(now), static_cast<double>(next)));
    };
    if (pass == 0) {
      message.superposed = scaled(message.superposed, message.norm);
      message.mixed = scaled(message.norm, message.norm_after);
      known_norm_ = message.norm_after;
    } else {
      message.superposed = message.mixed;
      message.mixed = scaled(known_norm_, message.norm);
      known_norm_ = message.norm;
    }
    message.norm = message.norm_after = Scalar(0);
  }

  const PiggybackCode& code_;
  std::int64_t workers_;
  std::int64_t groups_;
  std::int64_t worker_;
  Scalar d_;
  Matrix<Scalar> chunks_;
  Vector<Scalar> sent_;         ///< M_{g-1} of the chain this worker leads
  std::vector<Scales> scales_;  ///< by chain
  Scalar known_norm_ = 0;       ///< of group g + 2, gathered in pass g on the chain this worker leads
};

/// The protocol of docs/piggyback.md, one round after the other, all N workers in one process: the readable twin that
/// the executor is tested against, to the bit. All arithmetic is Scalar's, every product and sum rounded, without
/// contraction.
///
/// @param gradients  G_0 .. G_{N-1}, each p x c, p >= 0
/// @param sign       +1 or -1, of d
/// @param observe    called as observe(t, i, message) with every message as worker i sends it in round t; may change it
/// @return the sums that each worker ends with, each p x c
/// @throws std::invalid_argument if a shape does not fit the code's, or the code is the exact ring (is_exact())
template <class Scalar, class Observer>
[[nodiscard]] Matrices<Scalar> piggyback_rounds(const PiggybackCode& code, const Matrices<Scalar>& gradients, int sign,
                                                Observer&& observe) {
  validate(code);
  if (code.is_exact()) {
    throw std::invalid_argument("this piggyback code is the exact ring; nothing is superposed");
  }
  if (code.is_integer()) {
    throw std::invalid_argument("this piggyback code is for i32 words; piggyback_integer_reference runs it");
  }
  std::vector<PiggybackWorker<Scalar>> workers;
  for (const Matrix<Scalar>& gradient : gradients) {
    if (static_cast<std::int64_t>(gradients.size()) != code.shape.workers || gradient.cols() != code.shape.chunks ||
        gradient.rows() != gradients.front().rows()) {
      throw std::invalid_argument("the piggyback reference needs one p x c gradient for each worker");
    }
    workers.emplace_back(code, static_cast<std::int64_t>(workers.size()), gradient, sign);
  }
  std::vector<PiggybackMessage<Scalar>> sent(workers.size());
  for (std::int64_t round = 1; round <= code.shape.rounds() + 1; ++round) {
    std::vector<PiggybackMessage<Scalar>> next;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      next.push_back(workers[i].serve(round, sent[i == 0 ? workers.size() - 1 : i - 1]));
      if (round <= code.shape.rounds()) {
        observe(round, static_cast<std::int64_t>(i), next.back());
      }
    }
    sent = std::move(next);
  }
  Matrices<Scalar> sums;
  for (PiggybackWorker<Scalar>& worker : workers) {
    sums.push_back(std::move(worker).take());
  }
  return sums;
}

template <class Scalar>
[[nodiscard]] Matrices<Scalar> piggyback_reference(const PiggybackCode& code, const Matrices<Scalar>& gradients,
                                                   int sign = 1) {
  return piggyback_rounds<Scalar>(code, gradients, sign, [](std::int64_t, std::int64_t, const auto&) {});
}

/// What the protocol is as a linear map, for groups of one magnitude: the same that received_matrix and result_map say
/// of a shift code, found by running it on unit vectors.
template <class Scalar>
struct PiggybackMaps {
  Matrices<Scalar> received;  ///< M_i: worker i receives [G_0 | ... | G_{N-1}] M_i, (N c) x L, one column a round
  Matrices<Scalar> results;   ///< E_i: worker i ends with [G_0 | ... | G_{N-1}] E_i, (N c) x c
  /// Worker i's result changes by row N (t-1) + k of this, (N L) x c, if a unit error enters what worker k sends in
  /// round t.
  Matrices<Scalar> of_errors;
};

template <class Scalar>
[[nodiscard]] PiggybackMaps<Scalar> piggyback_maps(PiggybackCode code) {
  code.adapts_scale = false;
  code.noise.wire = "f32";  // integer words superpose the same, rounding apart
  const std::int64_t workers = code.shape.workers;
  const std::int64_t chunks = code.shape.chunks;
  const std::int64_t rounds = code.shape.rounds();
  PiggybackMaps<Scalar> maps;
  Matrices<Scalar> units;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    Matrix<Scalar> unit = Matrix<Scalar>::Zero(workers * chunks, chunks);
    unit.middleRows(worker * chunks, chunks).setIdentity();
    units.push_back(std::move(unit));
  }
  maps.received.assign(static_cast<std::size_t>(workers), Matrix<Scalar>(workers * chunks, rounds));
  maps.results =
      piggyback_rounds<Scalar>(code, units, 1, [&](std::int64_t round, std::int64_t worker, const auto& message) {
        maps.received[static_cast<std::size_t>(wrap(worker + 1, workers))].col(round - 1) = message.values;
      });
  const Matrices<Scalar> nothing(static_cast<std::size_t>(workers), Matrix<Scalar>::Zero(workers * rounds, chunks));
  maps.of_errors =
      piggyback_rounds<Scalar>(code, nothing, 1, [&](std::int64_t round, std::int64_t worker, auto& message) {
        message.values(workers * (round - 1) + worker) += Scalar(1);
      });
  return maps;
}

}  // namespace cerar
