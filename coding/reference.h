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

/// Words that hold every Scalar: what is sent is what was summed.
struct SentAsItIs {
  template <class Scalar>
  [[nodiscard]] Vector<Scalar> operator()(Vector<Scalar> sum) const {
    return sum;
  }
};

/// Runs the rounds of the protocol (docs/theory.md, eqs. 2-4) on encodings of any scalar and shows each to `observe`
/// once it is complete.
///
/// @param encoding  encoding(i, t) is delta_{i,t}; asked for once each
/// @param word      word(s) is what arrives of a message s: s rounded to the words on the wire
template <class Scalar, class Encoding, class Word, class Observer>
void run_rounds(const RingShape& shape, const Encoding& encoding, const Word& word, Observer&& observe) {
  const std::int64_t workers = shape.workers;
  const auto count = static_cast<std::size_t>(workers);
  // Every encoding is made once and kept: what is removed must be the very bits that were added (eq. 3).
  std::vector<std::vector<Vector<Scalar>>> deltas(count);
  Round<Scalar> now{0, std::vector<Vector<Scalar>>(count), std::vector<Vector<Scalar>>(count),
                    std::vector<Vector<Scalar>>(count)};
  for (std::int64_t t = 1; t <= shape.rounds(); ++t) {
    now.number = t;
    for (std::size_t i = 0; i < count; ++i) {
      deltas[i].push_back(encoding(i, t));
      const Vector<Scalar>& delta = deltas[i].back();
      // Eq. 4: s_{i,t} = o_{i,t-1} + delta_{i,t}.
      now.sent[i] = word(t == 1 ? delta : Vector<Scalar>(now.of_others[i] + delta));
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

/// The rounds for gradients, encoded in Scalar.
template <class Scalar, class Observer, class Word = SentAsItIs>
void reference_rounds(const Code& code, const std::vector<Matrix<Scalar>>& gradients, Observer&& observe,
                      const Word& word = {}) {
  const auto encoding = [&](std::size_t worker, std::int64_t round) {
    return encode<Scalar>(gradients[worker], code.encoders[worker].row(round - 1).transpose().template cast<Scalar>());
  };
  run_rounds<Scalar>(code.shape, encoding, word, observe);
}

/// Collects from the rounds what every worker keeps (docs/theory.md, eq. 5).
template <class Scalar>
class KeptVectors {
 public:
  /// @param values  p
  KeptVectors(const Code& code, Eigen::Index values)
      : paper_(code.decoder == Decoder::paper),
        first_(paper_ ? code.shape.workers : code.first_kept_round),
        matrices_(static_cast<std::size_t>(code.shape.workers), Matrix<Scalar>(values, code.kept())) {}

  void operator()(const Round<Scalar>& round) {
    const Eigen::Index column = round.number - first_;
    for (std::size_t i = 0; i < matrices_.size() && column >= 0; ++i) {
      if (paper_ && column == 0) {
        matrices_[i].col(0) = round.sent[i];  // the first full sum of the paper's window is the one it sends itself
      }
      matrices_[i].col(column + (paper_ ? 1 : 0)) = paper_ ? round.received[i] : round.of_others[i];
    }
  }

  /// By worker, p x kept.
  [[nodiscard]] const std::vector<Matrix<Scalar>>& matrices() const noexcept { return matrices_; }

 private:
  bool paper_;
  std::int64_t first_;
  std::vector<Matrix<Scalar>> matrices_;
};

/// Decoding (docs/theory.md, eq. 5) forms, for every chunk k, sum_m kept_m R(m, k) over the kept vectors in ascending
/// order of round, each product rounded and then added (no contraction), starting from the first product, skipping the
/// m with R(m, k) = 0; own-exact decoding then adds this sum to the own chunk: ghat_k = G_k + sum. An empty sum is not
/// added at all.
///
/// @param gradient  G_i, p x c
/// @param kept      p x kept
/// @return ghat_i, p x c
template <class Scalar>
[[nodiscard]] Matrix<Scalar> decode(const Code& code, std::size_t worker, const Matrix<Scalar>& gradient,
                                    const Matrix<Scalar>& kept) {
  Matrix<Scalar> sum(gradient.rows(), code.shape.chunks);
  for (Eigen::Index chunk = 0; chunk < code.shape.chunks; ++chunk) {
    const Vector<Scalar> coefficients = code.decoders[worker].col(chunk).template cast<Scalar>();
    const Vector<Scalar> others = encode<Scalar>(kept, coefficients);
    if (code.decoder == Decoder::paper) {
      sum.col(chunk) = others;
    } else if ((coefficients.array() == Scalar(0)).all()) {
      sum.col(chunk) = gradient.col(chunk);
    } else {
      sum.col(chunk) = gradient.col(chunk) + others;
    }
  }
  return sum;
}

/// The protocol exactly as docs/theory.md writes it, one round after the other, all N workers in one process: the
/// readable twin that every executor and kernel is tested against. U and R are rounded to Scalar once; all arithmetic
/// is Scalar's.
///
/// @param gradients  G_0 .. G_{N-1}, each p x c, p >= 0
/// @param word       see run_rounds
/// @return ghat_0 .. ghat_{N-1}, each p x c
/// @throws std::invalid_argument if a shape does not fit the code's
template <class Scalar, class Word = SentAsItIs>
[[nodiscard]] std::vector<Matrix<Scalar>> reference_all_reduce(const Code& code,
                                                               const std::vector<Matrix<Scalar>>& gradients,
                                                               const Word& word = {}) {
  validate(code);
  check_gradients(code, gradients);
  KeptVectors<Scalar> kept(code, gradients.front().rows());
  reference_rounds<Scalar>(code, gradients, kept, word);
  std::vector<Matrix<Scalar>> sums;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    sums.push_back(decode<Scalar>(code, i, gradients[i], kept.matrices()[i]));
  }
  return sums;
}

}  // namespace cerar
