#include "coding/noise.h"

#include "coding/covariance.h"
#include "coding/received.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace cerar {
namespace {

/// Variances of sums of encodings, as they stand on the links.
class SumVariance {
 public:
  SumVariance(const Matrices<double>& encoders, const Eigen::MatrixXd& covariance)
      : encoders_(encoders),
        covariance_(covariance),
        squares_(static_cast<Eigen::Index>(encoders.size()), encoders.front().rows()) {
    for (std::size_t w = 0; w < encoders.size(); ++w) {
      squares_.row(static_cast<Eigen::Index>(w)) = encoders[w].rowwise().squaredNorm().transpose();
    }
  }

  /// The largest variance of any encoding, delta_{w,t}; 0 where a lone worker has no rounds.
  [[nodiscard]] double largest_encoding() const {
    return squares_.size() == 0 ? 0 : (covariance_.diagonal().asDiagonal() * squares_).maxCoeff();
  }

  /// Of sum_{k=0}^{terms-1} delta_{from-k, round-k}, as far as the rounds go back.
  [[nodiscard]] double operator()(std::int64_t from, std::int64_t round, std::int64_t terms) const {
    const auto workers = static_cast<std::int64_t>(encoders_.size());
    const std::int64_t count = std::min(terms, round);
    const auto row = [&](std::int64_t k) {
      return encoders_[static_cast<std::size_t>(wrap(from - k, workers))].row(round - k - 1);
    };
    double sum = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t w = wrap(from - k, workers);
      sum += covariance_(w, w) * squares_(w, round - k - 1);
      for (std::int64_t other = 0; other < k && !independent_; ++other) {
        sum += 2 * covariance_(w, wrap(from - other, workers)) * row(k).dot(row(other));
      }
    }
    return sum;
  }

 private:
  const Matrices<double>& encoders_;
  Eigen::MatrixXd covariance_;
  bool independent_ = covariance_.isDiagonal(0);
  Eigen::MatrixXd squares_;  ///< ||u_{w,t}||^2
};

/// The messages that one worker keeps something of, column by column: s_{sender,round}.
struct KeptMessage {
  std::int64_t sender = 0;
  std::int64_t round = 0;
};

std::vector<KeptMessage> kept_messages(const RingShape& shape, Decoder decoder, std::int64_t worker,
                                       std::int64_t first_kept_round) {
  std::vector<KeptMessage> messages;
  if (decoder == Decoder::paper) {
    messages.push_back({worker, shape.workers});
  }
  for (std::int64_t t = decoder == Decoder::paper ? shape.workers : first_kept_round; t <= shape.rounds(); ++t) {
    messages.push_back({wrap(worker - 1, shape.workers), t});
  }
  return messages;
}

/// Collects sources by the set of kept vectors that they reach.
class Factor {
 public:
  Factor(std::vector<KeptMessage> messages, std::int64_t workers) : messages_(std::move(messages)), workers_(workers) {}

  /// Columns whose message carries what is on s_{sender,round}: it is on s_{sender+h,round+h} for h = 0 .. life - 1.
  [[nodiscard]] std::vector<Eigen::Index> reached(std::int64_t sender, std::int64_t round, std::int64_t life) const {
    std::vector<Eigen::Index> columns;
    for (std::size_t column = 0; column < messages_.size(); ++column) {
      const std::int64_t hops = messages_[column].round - round;
      if (hops >= 0 && hops < life && wrap(sender + hops, workers_) == messages_[column].sender) {
        columns.push_back(static_cast<Eigen::Index>(column));
      }
    }
    return columns;
  }

  void add(const std::vector<Eigen::Index>& columns, double variance) {
    if (!columns.empty() && variance > 0) {
      rows_[columns] += variance;
    }
  }

  [[nodiscard]] Eigen::MatrixXd matrix() const {
    Eigen::MatrixXd factor =
        Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(rows_.size()), static_cast<Eigen::Index>(messages_.size()));
    Eigen::Index row = 0;
    for (const auto& [columns, variance] : rows_) {
      factor(row++, columns).setConstant(std::sqrt(variance));
    }
    return factor;
  }

 private:
  std::vector<KeptMessage> messages_;
  std::int64_t workers_;
  std::map<std::vector<Eigen::Index>, double> rows_;
};

}  // namespace

NoiseSources noise_sources(const Matrices<double>& encoders, const NoiseModel& noise, NoiseEntry entry) {
  const auto workers = static_cast<std::int64_t>(encoders.size());
  const std::int64_t rounds = encoders.front().rows();
  const double eta_squared = noise.eta * noise.eta;
  const Eigen::MatrixXd covariance = worker_covariance(noise, workers);
  const SumVariance variance(encoders, covariance);
  const Eigen::MatrixXd none = Eigen::MatrixXd::Zero(workers, rounds);
  NoiseSources sources{{workers, encoders.front().cols()}, none, none, none};
  if (entry == NoiseEntry::kept) {
    return sources;
  }
  const double quantisation = eta_squared * variance.largest_encoding();
  for (std::int64_t i = 0; i < workers; ++i) {
    for (std::int64_t t = 1; t <= rounds; ++t) {
      if (entry == NoiseEntry::quantised) {
        sources.encoding(i, t - 1) = variance(i, t, 1) > 0 ? quantisation : 0;  // a zero is a zero in any step
        continue;
      }
      const double sent = variance(i, t, workers);
      if (entry == NoiseEntry::hops) {
        sources.adding(i, t - 1) = eta_squared * sent;
        continue;
      }
      sources.encoding(i, t - 1) =
          eta_squared * covariance(i, i) *
          encoding_variance<double>(encoders[static_cast<std::size_t>(i)].row(t - 1).transpose());
      const bool both =
          variance(i, t, 1) > 0 && t > 1 && variance(i - 1, t - 1, workers - 1) > 0;  // delta_{i,t}, o_{i,t-1}
      sources.adding(i, t - 1) = both ? eta_squared * sent : 0;
      const bool removes = t >= workers && variance(i, t - workers + 1, 1) > 0;
      sources.removing(i, t - 1) = removes ? eta_squared * variance(i - 1, t, workers - 1) : 0;  // o_{i,t}
    }
  }
  return sources;
}

Eigen::MatrixXd noise_factor(const NoiseSources& sources, const Eigen::MatrixXd& received, Decoder decoder,
                             std::int64_t worker, std::int64_t first_kept_round, const NoiseModel& noise,
                             NoiseEntry entry) {
  const std::int64_t workers = sources.shape.workers;
  const std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();
  Factor factor(kept_messages(sources.shape, decoder, worker, first_kept_round), workers);
  // What was added with delta_{j,t} is gone after N - 1 hops; the paper's decoder keeps r, in which the own part still
  // is.
  const std::int64_t encoding_life = decoder == Decoder::paper ? workers : workers - 1;
  for (std::int64_t j = 0; j < workers; ++j) {
    for (std::int64_t t = 1; t <= sources.shape.rounds(); ++t) {
      factor.add(factor.reached(j, t, encoding_life), sources.encoding(j, t - 1));
      factor.add(factor.reached(j, t, for_ever), sources.adding(j, t - 1));
      if (sources.removing(j, t - 1) > 0) {
        std::vector<Eigen::Index> columns = factor.reached(j, t + 1, for_ever);
        if (decoder == Decoder::own_exact && j == worker && t >= first_kept_round) {
          columns.insert(columns.begin(), t - first_kept_round);  // o_{i,t} itself is kept
        }
        factor.add(columns, sources.removing(j, t - 1));
      }
    }
  }
  if (entry == NoiseEntry::operations || entry == NoiseEntry::kept) {
    // Decoding rounds each product kept_m R(m, k): independent noise on kept_m for every chunk k.
    const Eigen::VectorXd variance = signal_variance<double>(received, worker_covariance(noise, workers));
    for (Eigen::Index column = 0; column < received.cols(); ++column) {
      factor.add({column}, noise.eta * noise.eta * variance(column));
    }
  }
  return factor.matrix();
}

}  // namespace cerar
