#pragma once

#include "coding/code.h"
#include "coding/matrix.h"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace cerar {

/// delta_{i,t} = G_i u_{i,t} (docs/theory.md, eq. 1), summed over the chunks in ascending order, without contraction
/// and skipping the chunks whose coefficient is zero: the order every executor keeps, so that float results agree to
/// the bit. The sum starts from the first product, not from zero; without any nonzero coefficient it is zero.
///
/// @param gradient  G_i, p x c
/// @param coefficients  u_{i,t} as Scalar, length c
/// @return length p
template <class Scalar>
[[nodiscard]] Vector<Scalar> encode(const Matrix<Scalar>& gradient, const Vector<Scalar>& coefficients) {
  Vector<Scalar> sum = Vector<Scalar>::Zero(gradient.rows());
  bool first = true;
  for (Eigen::Index chunk = 0; chunk < coefficients.size(); ++chunk) {
    if (coefficients(chunk) == Scalar(0)) {
      continue;
    }
    if (first) {
      sum = gradient.col(chunk) * coefficients(chunk);
    } else {
      sum += gradient.col(chunk) * coefficients(chunk);
    }
    first = false;
  }
  return sum;
}

/// What the workers hold in one round, each a vector of N vectors of length p; `sent` is empty after the last round's
/// o.
template <class Scalar>
struct Round {
  std::int64_t number = 1;                ///< t, 1 .. L
  std::vector<Vector<Scalar>> sent;       ///< s_{i,t}
  std::vector<Vector<Scalar>> received;   ///< r_{i,t} = s_{i-1,t}
  std::vector<Vector<Scalar>> of_others;  ///< o_{i,t}: r_{i,t} without the own contribution
};

/// @throws std::invalid_argument naming what does not fit
template <class Scalar>
void check_gradients(const Code& code, const std::vector<Matrix<Scalar>>& gradients) {
  if (static_cast<std::int64_t>(gradients.size()) != code.shape.workers) {
    throw std::invalid_argument("the code is for " + std::to_string(code.shape.workers) + " workers, but " +
                                std::to_string(gradients.size()) + " gradients were given");
  }
  for (const Matrix<Scalar>& gradient : gradients) {
    if (gradient.cols() != code.shape.chunks || gradient.rows() != gradients.front().rows()) {
      throw std::invalid_argument("every gradient must be p x c with c = " + std::to_string(code.shape.chunks) +
                                  " and one p for all; one is " + std::to_string(gradient.rows()) + " x " +
                                  std::to_string(gradient.cols()));
    }
  }
}

/// Runs the rounds of the protocol (docs/theory.md, eqs. 1-4) and shows each to `observe` once it is complete.
template <class Scalar, class Observer>
void reference_rounds(const Code& code, const std::vector<Matrix<Scalar>>& gradients, Observer&& observe) {
  const std::int64_t workers = code.shape.workers;
  const auto count = static_cast<std::size_t>(workers);
  const auto own = [&](std::size_t worker, std::int64_t round) {
    return encode<Scalar>(gradients[worker], code.encoders[worker].row(round - 1).transpose().template cast<Scalar>());
  };
  // Every encoding is made once and kept: what is removed must be the very bits that were added (eq. 3).
  std::vector<std::vector<Vector<Scalar>>> deltas(count);
  Round<Scalar> now{0, std::vector<Vector<Scalar>>(count), std::vector<Vector<Scalar>>(count),
                    std::vector<Vector<Scalar>>(count)};
  for (std::int64_t t = 1; t <= code.shape.rounds(); ++t) {
    now.number = t;
    for (std::size_t i = 0; i < count; ++i) {
      deltas[i].push_back(own(i, t));
      const Vector<Scalar>& delta = deltas[i].back();
      now.sent[i] =
          t == 1 ? delta : Vector<Scalar>(now.of_others[i] + delta);  // eq. 4: s_{i,t} = o_{i,t-1} + delta_{i,t}
    }
    for (std::size_t i = 0; i < count; ++i) {
      now.received[i] = now.sent[i == 0 ? count - 1 : i - 1];
      now.of_others[i] = now.received[i];
      if (t >= workers) {
        now.of_others[i] -= deltas[i][static_cast<std::size_t>(t - workers)];  // eq. 3: delta_{i,t-N+1} returns
      }
    }
    observe(static_cast<const Round<Scalar>&>(now));
  }
}

/// The protocol exactly as docs/theory.md writes it, one round after the other, all N workers in one process: the
/// readable twin that every executor and kernel is tested against. U and R are rounded to Scalar once; all arithmetic
/// is Scalar's.
///
/// Decoding (eq. 5) forms, for every chunk k, sum_m kept_m R(m, k) over the kept vectors in ascending order of round,
/// each product rounded and then added (no contraction), starting from the first product, skipping the m with R(m, k) =
/// 0; own-exact decoding then adds this sum to the own chunk: ghat_k = G_k + sum. An empty sum is not added at all.
///
/// @param gradients  G_0 .. G_{N-1}, each p x c, p >= 0
/// @return ghat_0 .. ghat_{N-1}, each p x c
/// @throws std::invalid_argument if a shape does not fit the code's
template <class Scalar>
[[nodiscard]] std::vector<Matrix<Scalar>> reference_all_reduce(const Code& code,
                                                               const std::vector<Matrix<Scalar>>& gradients) {
  validate(code);
  check_gradients(code, gradients);
  const auto count = static_cast<std::size_t>(code.shape.workers);
  const Eigen::Index values = gradients.front().rows();
  std::vector<Matrix<Scalar>> kept(count, Matrix<Scalar>(values, code.kept()));
  Eigen::Index column = 0;
  reference_rounds<Scalar>(code, gradients, [&](const Round<Scalar>& round) {
    const bool paper = code.decoder == Decoder::paper;
    if (round.number < (paper ? code.shape.workers : code.first_kept_round)) {
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (paper && round.number == code.shape.workers) {
        kept[i].col(0) = round.sent[i];  // the first full sum of the paper's window is the one this worker sends itself
      }
      kept[i].col(column + (paper ? 1 : 0)) = paper ? round.received[i] : round.of_others[i];
    }
    ++column;
  });

  std::vector<Matrix<Scalar>> sums(count);
  for (std::size_t i = 0; i < count; ++i) {
    sums[i] = Matrix<Scalar>::Zero(values, code.shape.chunks);
    for (Eigen::Index chunk = 0; chunk < code.shape.chunks; ++chunk) {
      const Vector<Scalar> coefficients = code.decoders[i].col(chunk).template cast<Scalar>();
      const Vector<Scalar> others = encode<Scalar>(kept[i], coefficients);
      if (code.decoder == Decoder::paper) {
        sums[i].col(chunk) = others;
      } else if ((coefficients.array() == Scalar(0)).all()) {
        sums[i].col(chunk) = gradients[i].col(chunk);
      } else {
        sums[i].col(chunk) = gradients[i].col(chunk) + others;
      }
    }
  }
  return sums;
}

}  // namespace cerar
