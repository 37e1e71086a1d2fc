#pragma once

#include "coding/code.h"
#include "coding/covariance.h"
#include "coding/decoding.h"
#include "coding/matrix.h"
#include "coding/noise.h"
#include "coding/received.h"
#include "coding/ring_shape.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cerar {

/// Which of a worker's result counts as error.
enum class OwnBlock {
  exact,     ///< own-exact decoding: the own gradient is added as it is, its block of M_i is zero
  included,  ///< the paper's Phi: the own encodings of rounds 0 .. c - 1 stay in what is kept, and are decoded too
};

/// What the encoders of a code are judged by: all that eqs. 10 and 11 of docs/theory.md need beside U.
struct ErrorModel {
  RingShape shape;
  OwnBlock own_block = OwnBlock::exact;
  std::int64_t first_kept_round = 1;  ///< f; N - 1 where the own block is included
  NoiseModel noise;
  NoiseEntry entry = NoiseEntry::operations;
  double white = 0;  ///< rms of more noise on every kept vector, relative to the rms of all: the price that bounds R
  bool symmetric = false;  ///< every worker has the same error, so that worker 0 stands for all

  /// Rows of each U_i: L, and where the own block is included one more at the end, u_{i,0}, which is never sent.
  [[nodiscard]] std::int64_t rows() const noexcept {
    return shape.rounds() + (own_block == OwnBlock::included ? 1 : 0);
  }
  [[nodiscard]] std::int64_t kept() const noexcept { return shape.rounds() - first_kept_round + 1; }
  [[nodiscard]] std::int64_t judged_workers() const noexcept { return symmetric ? 1 : shape.workers; }
};

/// The expected squared relative error of a code as a function of U alone, R having been eliminated by least squares
/// (docs/theory.md, eqs. 10, 11), and its gradient. By the envelope theorem the gradient is that at fixed R: with
/// A = [C^{1/2} M; F] and e^2 = || A R - B ||^2, de^2 = 2 < (A R - B) R^T, dA >.
template <class Scalar>
class Objective {
 public:
  explicit Objective(const ErrorModel& model);

  /// Everything that one evaluation finds out.
  struct Evaluation {
    Scalar error = 0;            ///< mean over the judged workers of e_i^2 (eq. 11 without the decoder's additions)
    Matrices<Scalar> decoders;   ///< R_i of the judged workers, kept x c
    Matrices<Scalar> received;   ///< M_i of the judged workers, (N c) x kept
    Matrices<Scalar> gradient;   ///< d error / d U_w, each rows() x c; empty unless asked for
    Matrices<Scalar> curvature;  ///< by worker w, rows() x rows(): the error for fixed R is quadratic in U, of Hessian
                                 ///< 2 curvature_w (x) I_c in U_w alone; empty unless asked for
  };

  /// @param encoders  U_0 .. U_{N-1}, each rows() x c
  [[nodiscard]] Evaluation evaluate(const Matrices<Scalar>& encoders, bool with_gradient, bool with_curvature) const;

  [[nodiscard]] const ErrorModel& model() const noexcept { return model_; }

  /// M_i, (N c) x kept, of the worker whose own block is as the model has it (docs/theory.md, eq. 6).
  [[nodiscard]] Matrix<Scalar> received(const Matrices<Scalar>& encoders, std::int64_t worker) const;

  /// Adds to the gradient by U_0 .. U_{N-1} what a gradient by M_i amounts to.
  void scatter(const Matrix<Scalar>& by_received, std::int64_t worker, Matrices<Scalar>& gradient) const;

 private:
  /// A number for each thing that enters a chain, by (worker, round - 1) as in NoiseSources: its variance, or the
  /// weight with which that variance counts. One row stands for all workers where they are alike.
  struct Sources {
    Matrix<Scalar> encoding;
    Matrix<Scalar> adding;
    Matrix<Scalar> removing;
  };

  /// Calls visit(w, row) for every u that kept vector `column` of `worker` holds; row as in the encoders.
  template <class Visit>
  void for_each_term(std::int64_t worker, std::int64_t column, Visit&& visit) const {
    const std::int64_t round = model_.first_kept_round + column;
    for (std::int64_t hops = 0; hops < std::min(round, model_.shape.workers - 1); ++hops) {
      visit(wrap(worker - 1 - hops, model_.shape.workers), round - hops - 1);
    }
    if (model_.own_block == OwnBlock::included) {
      visit(worker, column == 0 ? model_.shape.rounds() : column - 1);
    }
  }

  /// Calls visit(w, row) for every u in a sum of at most `terms` encodings that ends with delta_{from,round}.
  template <class Visit>
  void for_each_carrier(std::int64_t from, std::int64_t round, std::int64_t terms, Visit&& visit) const {
    for (std::int64_t hops = 0; hops < std::min(round, terms); ++hops) {
      visit(wrap(from - hops, model_.shape.workers), round - hops - 1);
    }
  }

  [[nodiscard]] Scalar variance(const Matrices<Scalar>& encoders, std::int64_t from, std::int64_t round,
                                std::int64_t terms) const;
  void add_variance_gradient(const Matrices<Scalar>& encoders, std::int64_t from, std::int64_t round,
                             std::int64_t terms, const Scalar& weight, Matrices<Scalar>& gradient) const;
  /// What the step of integer words follows: the largest variance of an encoding, smoothed as a p-norm with p = 32, and
  /// its derivative by every one of them.
  struct LargestEncoding {
    Scalar value = 0;
    Matrix<Scalar> derivative;
  };
  [[nodiscard]] LargestEncoding largest_encoding(const Matrices<Scalar>& encoders) const;

  [[nodiscard]] Sources no_sources() const;
  [[nodiscard]] Sources variances(const Matrices<Scalar>& encoders) const;
  void add_source_gradient(const Matrices<Scalar>& encoders, const Sources& variances, const Sources& weights,
                           Matrices<Scalar>& gradient) const;
  /// Calls alone(column, w, round) for the encodings whose noise reaches only that kept vector, and from(column, array,
  /// w, round) for sources in `adding` or `removing` that reach that one and every later one of its chain.
  template <class Alone, class From>
  void for_each_source(std::int64_t worker, Alone&& alone, From&& from) const;
  [[nodiscard]] Eigen::Index slot(std::int64_t worker) const noexcept { return model_.symmetric ? 0 : worker; }

  ErrorModel model_;
  Matrix<Scalar> covariance_;  ///< C, N x N
  bool independent_;           ///< C = I
  Scalar eta_squared_;
  Scalar scale_;  ///< 1 / (judged workers times the squared norm of the true sum)
};

template <class Scalar>
Objective<Scalar>::Objective(const ErrorModel& model)
    : model_(model),
      covariance_(worker_covariance(model.noise, model.shape.workers).template cast<Scalar>()),
      independent_(covariance_.isIdentity(Scalar(0))),
      eta_squared_(Scalar(model.noise.eta) * Scalar(model.noise.eta)),
      scale_(Scalar(1) / (Scalar(model.judged_workers() * model.shape.chunks) * covariance_.sum())) {}

template <class Scalar>
Scalar Objective<Scalar>::variance(const Matrices<Scalar>& encoders, std::int64_t from, std::int64_t round,
                                   std::int64_t terms) const {
  Scalar sum(0);
  for_each_carrier(from, round, terms, [&](std::int64_t w, std::int64_t row) {
    const auto u = encoders[static_cast<std::size_t>(w)].row(row);
    if (independent_) {
      sum += u.squaredNorm();
      return;
    }
    for_each_carrier(from, round, terms, [&](std::int64_t other, std::int64_t other_row) {
      sum += covariance_(w, other) * u.dot(encoders[static_cast<std::size_t>(other)].row(other_row));
    });
  });
  return sum;
}

template <class Scalar>
void Objective<Scalar>::add_variance_gradient(const Matrices<Scalar>& encoders, std::int64_t from, std::int64_t round,
                                              std::int64_t terms, const Scalar& weight,
                                              Matrices<Scalar>& gradient) const {
  if (weight == Scalar(0)) {
    return;
  }
  for_each_carrier(from, round, terms, [&](std::int64_t w, std::int64_t row) {
    auto target = gradient[static_cast<std::size_t>(w)].row(row);
    if (independent_) {
      target += Scalar(2) * weight * encoders[static_cast<std::size_t>(w)].row(row);
      return;
    }
    for_each_carrier(from, round, terms, [&](std::int64_t other, std::int64_t other_row) {
      target += Scalar(2) * weight * covariance_(w, other) * encoders[static_cast<std::size_t>(other)].row(other_row);
    });
  });
}

template <class Scalar>
typename Objective<Scalar>::Sources Objective<Scalar>::no_sources() const {
  const Matrix<Scalar> none = Matrix<Scalar>::Zero(model_.symmetric ? 1 : model_.shape.workers, model_.shape.rounds());
  return {none, none, none};
}

template <class Scalar>
typename Objective<Scalar>::LargestEncoding Objective<Scalar>::largest_encoding(
    const Matrices<Scalar>& encoders) const {
  using std::pow;
  constexpr int p = 32;
  LargestEncoding largest{Scalar(0), no_sources().encoding};
  Matrix<Scalar>& sizes = largest.derivative;
  for (Eigen::Index i = 0; i < sizes.rows(); ++i) {
    for (std::int64_t t = 1; t <= model_.shape.rounds(); ++t) {
      sizes(i, t - 1) = variance(encoders, i, t, 1);
    }
  }
  const Scalar most = sizes.maxCoeff();
  if (!(most > Scalar(0))) {
    return largest;
  }
  Scalar sum(0);
  for (Scalar& size : sizes.reshaped()) {
    size /= most;
    sum += pow(size, p);
  }
  largest.value = most * pow(sum, Scalar(1) / Scalar(p));
  for (Scalar& size : sizes.reshaped()) {
    size = pow(size, p - 1) * pow(sum, Scalar(1) / Scalar(p) - Scalar(1));
  }
  return largest;
}

// The same as noise_sources (coding/noise.cpp), whose comments say why.
template <class Scalar>
typename Objective<Scalar>::Sources Objective<Scalar>::variances(const Matrices<Scalar>& encoders) const {
  Sources sources = no_sources();
  if (model_.entry == NoiseEntry::kept) {
    return sources;
  }
  const std::int64_t workers = model_.shape.workers;
  if (model_.entry == NoiseEntry::quantised) {
    for (Eigen::Index i = 0; i < sources.encoding.rows(); ++i) {
      for (std::int64_t t = 1; t <= model_.shape.rounds(); ++t) {
        sources.encoding(i, t - 1) = variance(encoders, i, t, 1) > Scalar(0) ? Scalar(1) : Scalar(0);
      }
    }
    sources.encoding *= eta_squared_ * largest_encoding(encoders).value;
    return sources;
  }
  for (Eigen::Index i = 0; i < sources.adding.rows(); ++i) {
    for (std::int64_t t = 1; t <= model_.shape.rounds(); ++t) {
      const Scalar sent = variance(encoders, i, t, workers);
      if (model_.entry == NoiseEntry::hops) {
        sources.adding(i, t - 1) = eta_squared_ * sent;
        continue;
      }
      sources.encoding(i, t - 1) = eta_squared_ * covariance_(i, i) *
                                   encoding_variance<Scalar>(encoders[static_cast<std::size_t>(i)].row(t - 1));
      const bool both =
          variance(encoders, i, t, 1) > Scalar(0) && t > 1 && variance(encoders, i - 1, t - 1, workers - 1) > Scalar(0);
      sources.adding(i, t - 1) = both ? eta_squared_ * sent : Scalar(0);
      const bool removes = t >= workers && variance(encoders, i, t - workers + 1, 1) > Scalar(0);
      sources.removing(i, t - 1) =
          removes ? Scalar(eta_squared_ * variance(encoders, i - 1, t, workers - 1)) : Scalar(0);
    }
  }
  return sources;
}

template <class Scalar>
void Objective<Scalar>::add_source_gradient(const Matrices<Scalar>& encoders, const Sources& variances,
                                            const Sources& weights, Matrices<Scalar>& gradient) const {
  const std::int64_t workers = model_.shape.workers;
  if (model_.entry == NoiseEntry::quantised) {
    const Scalar weight =
        eta_squared_ * (variances.encoding.array() > Scalar(0)).select(weights.encoding, Scalar(0)).sum();
    const LargestEncoding largest = largest_encoding(encoders);
    for (Eigen::Index i = 0; i < weights.encoding.rows(); ++i) {
      for (std::int64_t t = 1; t <= model_.shape.rounds(); ++t) {
        add_variance_gradient(encoders, i, t, 1, Scalar(weight * largest.derivative(i, t - 1)), gradient);
      }
    }
    return;
  }
  for (Eigen::Index i = 0; i < weights.adding.rows(); ++i) {
    for (std::int64_t t = 1; t <= model_.shape.rounds(); ++t) {
      const auto weight_of = [&](const Matrix<Scalar>& weight, const Matrix<Scalar>& variance) {
        return variance(i, t - 1) > Scalar(0) ? Scalar(eta_squared_ * weight(i, t - 1)) : Scalar(0);
      };
      add_variance_gradient(encoders, i, t, workers, weight_of(weights.adding, variances.adding), gradient);
      add_variance_gradient(encoders, i - 1, t, workers - 1, weight_of(weights.removing, variances.removing), gradient);
      const Scalar encoding = weight_of(weights.encoding, variances.encoding);
      if (encoding > Scalar(0)) {
        const auto w = static_cast<std::size_t>(i);
        gradient[w].row(t - 1) +=
            encoding * covariance_(i, i) * encoding_variance_gradient<Scalar>(encoders[w].row(t - 1)).transpose();
      }
    }
  }
}

template <class Scalar>
template <class Alone, class From>
void Objective<Scalar>::for_each_source(std::int64_t worker, Alone&& alone, From&& from) const {
  const std::int64_t workers = model_.shape.workers;
  const std::int64_t first = model_.first_kept_round;
  for (std::int64_t column = 0; column < model_.kept(); ++column) {
    const std::int64_t round = first + column;
    from(column, &Sources::removing, slot(worker), round);  // o_{i,t} itself is kept
    // What s_{j,t} has taken up reaches the worker after `hops` more; the first kept vector of a chain is the first to
    // see also what was taken up earlier than a whole turn ago.
    for (std::int64_t hops = 0; round - hops >= 1 && (hops < workers || column < workers); ++hops) {
      const std::int64_t j = wrap(worker - 1 - hops, workers);
      const std::int64_t t = round - hops;
      if (hops < workers - 1) {
        alone(column, slot(j), t);
      }
      from(column, &Sources::adding, slot(j), t);
      if (t > 1 && !(j == worker && t - 1 >= first)) {
        from(column, &Sources::removing, slot(j), t - 1);
      }
    }
  }
}

template <class Scalar>
Matrix<Scalar> Objective<Scalar>::received(const Matrices<Scalar>& encoders, std::int64_t worker) const {
  const std::int64_t chunks = model_.shape.chunks;
  Matrix<Scalar> matrix = Matrix<Scalar>::Zero(model_.shape.workers * chunks, model_.kept());
  for (std::int64_t column = 0; column < model_.kept(); ++column) {
    for_each_term(worker, column, [&](std::int64_t w, std::int64_t row) {
      matrix.col(column).segment(w * chunks, chunks) += encoders[static_cast<std::size_t>(w)].row(row).transpose();
    });
  }
  return matrix;
}

template <class Scalar>
void Objective<Scalar>::scatter(const Matrix<Scalar>& by_received, std::int64_t worker,
                                Matrices<Scalar>& gradient) const {
  const std::int64_t chunks = model_.shape.chunks;
  for (std::int64_t column = 0; column < model_.kept(); ++column) {
    for_each_term(worker, column, [&](std::int64_t w, std::int64_t row) {
      gradient[static_cast<std::size_t>(w)].row(row) += by_received.col(column).segment(w * chunks, chunks).transpose();
    });
  }
}

template <class Scalar>
typename Objective<Scalar>::Evaluation Objective<Scalar>::evaluate(const Matrices<Scalar>& encoders, bool with_gradient,
                                                                   bool with_curvature) const {
  const std::int64_t workers = model_.shape.workers;
  const std::int64_t chunks = model_.shape.chunks;
  const std::int64_t kept = model_.kept();
  const Decoder form = model_.own_block == OwnBlock::included ? Decoder::paper : Decoder::own_exact;
  const Sources variance = variances(encoders);
  Sources weights = no_sources();
  Evaluation result;
  const Matrix<Scalar> zero = Matrix<Scalar>::Zero(model_.rows(), chunks);
  if (with_gradient) {
    result.gradient.assign(encoders.size(), zero);
  }
  if (with_curvature) {
    result.curvature.assign(encoders.size(), Matrix<Scalar>::Zero(model_.rows(), model_.rows()));
  }
  for (std::int64_t worker = 0; worker < model_.judged_workers(); ++worker) {
    Matrix<Scalar> m = received(encoders, worker);
    Vector<Scalar> alone = Vector<Scalar>::Zero(kept);
    Vector<Scalar> from = Vector<Scalar>::Zero(kept);
    for_each_source(
        worker, [&](auto column, auto w, auto t) { alone(column) += variance.encoding(w, t - 1); },
        [&](auto column, auto source, auto w, auto t) { from(column) += (variance.*source)(w, t - 1); });
    const Vector<Scalar> signal = signal_variance<Scalar>(m, covariance_);
    const bool rounds_products = model_.entry == NoiseEntry::operations || model_.entry == NoiseEntry::kept;
    const Scalar own = rounds_products ? eta_squared_ : Scalar(0);             // of each by itself
    const Scalar common = Scalar(model_.white * model_.white) / Scalar(kept);  // of all alike
    alone += own * signal + Vector<Scalar>::Constant(kept, common * signal.sum());
    Matrix<Scalar> factor = Matrix<Scalar>::Zero(2 * kept, kept);
    for (std::int64_t column = 0; column < kept; ++column) {
      using std::sqrt;
      factor(column, column) = sqrt(alone(column));
      for (std::int64_t later = column; later < kept; later += workers) {
        factor(kept + column, later) = sqrt(from(column));
      }
    }
    const Matrix<Scalar> target = decoding_target<Scalar>(model_.shape, form, worker);
    BestDecoder<Scalar> best = optimal_decoder<Scalar>(m, factor, target, covariance_);
    const Matrix<Scalar>& r = best.decoder;
    result.error += scale_ * best.squared_error;
    if (with_gradient) {
      // d error / d M = 2 C (M R - T) R^T; R is sparse where chains share nothing.
      Matrix<Scalar> off = -target;
      Matrix<Scalar> by_received = Matrix<Scalar>::Zero(m.rows(), kept);
      const auto for_each_entry = [&](auto&& visit) {
        for (Eigen::Index chunk = 0; chunk < chunks; ++chunk) {
          for (Eigen::Index column = 0; column < kept; ++column) {
            if (r(column, chunk) != Scalar(0)) {
              visit(column, chunk);
            }
          }
        }
      };
      for_each_entry([&](auto column, auto chunk) { off.col(chunk) += m.col(column) * r(column, chunk); });
      for_each_entry([&](auto column, auto chunk) { by_received.col(column) += off.col(chunk) * r(column, chunk); });
      for (std::int64_t column = 0; column < kept; ++column) {
        by_received.col(column) += (own * r.row(column).squaredNorm() + common * r.squaredNorm()) * m.col(column);
      }
      by_received = Scalar(2) * mix_workers<Scalar>(covariance_, by_received);
      scatter(by_received, worker, result.gradient);
      Vector<Scalar> size(kept);    // || r_m ||^2
      Vector<Scalar> suffix(kept);  // || sum of r_m over this and the later kept vectors of the chain ||^2
      Matrix<Scalar> sums = r;
      for (std::int64_t column = kept - 1; column >= 0; --column) {
        if (column + workers < kept) {
          sums.row(column) += sums.row(column + workers);
        }
        size(column) = r.row(column).squaredNorm();
        suffix(column) = sums.row(column).squaredNorm();
      }
      for_each_source(
          worker, [&](auto column, auto w, auto t) { weights.encoding(w, t - 1) += size(column); },
          [&](auto column, auto source, auto w, auto t) { (weights.*source)(w, t - 1) += suffix(column); });
    }
    if (with_curvature) {
      const Matrix<Scalar> gram = r * r.transpose();
      for (std::int64_t one = 0; one < kept; ++one) {
        for (std::int64_t other = 0; other < kept; ++other) {
          if (gram(one, other) == Scalar(0)) {
            continue;
          }
          for_each_term(worker, one, [&](std::int64_t w, std::int64_t row) {
            for_each_term(worker, other, [&](std::int64_t other_w, std::int64_t other_row) {
              if (w == other_w) {
                result.curvature[static_cast<std::size_t>(w)](row, other_row) +=
                    scale_ * covariance_(w, w) * gram(one, other);
              }
            });
          });
        }
      }
    }
    result.decoders.push_back(std::move(best.decoder));
    result.received.push_back(std::move(m));
  }
  if (with_gradient) {
    add_source_gradient(encoders, variance, weights, result.gradient);
    for (Matrix<Scalar>& gradient : result.gradient) {
      gradient *= scale_;
    }
  }
  return result;
}

}  // namespace cerar
