#include "coding/piggyback_integer_reference.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

namespace cerar {

namespace {

/// One worker's part, in place: its chunks become the sums, one after the other. Compare PiggybackWorker.
class IntegerWorker {
 public:
  IntegerWorker(const PiggybackCode& code, std::int64_t worker, Matrix<float> chunks, std::vector<IntegerScale> scales)
      : workers_(code.shape.workers),
        groups_(code.groups()),
        worker_(worker),
        chunks_(std::move(chunks)),
        scales_(std::move(scales)),
        peaks_(static_cast<std::size_t>(workers_)) {}

  /// See PiggybackWorker::serve.
  IntegerMessage serve(std::int64_t round, IntegerMessage message) {
    const auto [chain, role, pass] = piggyback_role(worker_, round, workers_);
    const bool leads = role == workers_ - 1;
    if (pass > 0 && !leads) {
      learn(pass - 1, chain, role, message);
    }
    if (pass == groups_) {
      return message;
    }
    const double step = scale(pass, chain).step(peak(chain));
    const double inverse_step = inverse_or_zero(step);
    if (!leads) {
      message.words.resize(static_cast<std::size_t>(chunks_.rows()));
      for (Eigen::Index x = 0; x < chunks_.rows(); ++x) {
        message.words[static_cast<std::size_t>(x)] +=
            nearest_integer(contribution(pass, chain, role, x) * inverse_step);
      }
      return message;
    }
    // What is left of the words without the leader's own last ones is F_g, exactly.
    std::vector<double> sum;
    double largest = 0;
    for (Eigen::Index x = 0; x < chunks_.rows(); ++x) {
      const auto k = static_cast<std::size_t>(x);
      const std::int32_t others = message.words[k] - (pass > 0 ? sent_[k] : 0);
      sum.push_back(static_cast<double>(others) * step + contribution(pass, chain, role, x));
      largest = std::max(largest, std::abs(sum.back()));
    }
    message.peak = peak_on_the_wire(largest);
    const double inverse_unit = inverse_or_zero(integer_unit(message.peak, scale(pass + 1, chain)));
    std::transform(sum.begin(), sum.end(), message.words.begin(),
                   [&](double value) { return nearest_integer(value * inverse_unit); });
    sent_ = message.words;
    learn(pass, chain, role, message);
    return message;
  }

  [[nodiscard]] Matrix<float> take() && { return std::move(chunks_); }

 private:
  [[nodiscard]] Eigen::Index column(std::int64_t group, std::int64_t chain) const { return group * workers_ + chain; }
  [[nodiscard]] const IntegerScale& scale(std::int64_t group, std::int64_t chain) const {
    static const IntegerScale nothing;  // rides on the last group
    return group < groups_ ? scales_[static_cast<std::size_t>(column(group, chain))] : nothing;
  }

  /// b_g(x) = a_g + premix a_{g+1}
  [[nodiscard]] double contribution(std::int64_t group, std::int64_t chain, std::int64_t role, Eigen::Index x) const {
    const auto own = static_cast<double>(chunks_(x, column(group, chain)));
    if (group == groups_ - 1) {
      return own;
    }
    const double premix = piggyback_coefficients(role, workers_, scale(group, chain).mixed, 0).premix;
    return own + static_cast<double>(chunks_(x, column(group + 1, chain))) * premix;
  }

  /// Reads the sum of group g off the words, and with it what of it was mixed into group g - 1's.
  void learn(std::int64_t group, std::int64_t chain, std::int64_t role, const IntegerMessage& message) {
    const IntegerScale& now = scale(group, chain);
    const double unit = integer_unit(message.peak, scale(group + 1, chain));
    const double step = now.step(peak(chain));
    const double inverse_step = inverse_or_zero(step);
    PiggybackCoefficients decoding;
    if (group > 0) {
      decoding = integer_coefficients(role, workers_, scale(group - 1, chain), now, peak(chain));
    }
    for (Eigen::Index x = 0; x < chunks_.rows(); ++x) {
      // The leader's own contribution has not been rounded to a step; everyone else knows what theirs has lost.
      double lost = 0;
      if (role < workers_ - 1) {
        const double own = contribution(group, chain, role, x);
        lost = own - static_cast<double>(nearest_integer(own * inverse_step)) * step;
      }
      const double sum = static_cast<double>(message.words[static_cast<std::size_t>(x)]) * unit + lost;
      float& known = chunks_(x, column(group, chain));
      if (group > 0) {
        float& before = chunks_(x, column(group - 1, chain));
        before = static_cast<float>(static_cast<double>(before) -
                                    (static_cast<double>(known) * decoding.own + sum * decoding.next));
      }
      known = static_cast<float>(sum);
    }
    peak(chain) = message.peak;
  }

  float& peak(std::int64_t chain) { return peaks_[static_cast<std::size_t>(chain)]; }

  std::int64_t workers_;
  std::int64_t groups_;
  std::int64_t worker_;
  Matrix<float> chunks_;
  std::vector<IntegerScale> scales_;
  std::vector<float> peaks_;        ///< by chain, of the last sum that was learnt
  std::vector<std::int32_t> sent_;  ///< M_{g-1} of the chain this worker leads
};

}  // namespace

Matrices<float> piggyback_integer_reference(const PiggybackCode& code, const Matrices<float>& gradients, int sign,
                                            const IntegerObserver& observe) {
  validate(code);
  if (!code.is_integer()) {
    throw std::invalid_argument("this piggyback code is for float words; piggyback_reference runs it");
  }
  const std::int64_t chunks = code.shape.chunks;
  std::vector<float> rms;
  for (const Matrix<float>& gradient : gradients) {
    if (static_cast<std::int64_t>(gradients.size()) != code.shape.workers || gradient.cols() != chunks ||
        gradient.rows() != gradients.front().rows()) {
      throw std::invalid_argument("the piggyback reference needs one p x c gradient for each worker");
    }
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      rms.push_back(chunk_rms(gradient.col(chunk).data(), gradient.rows(), gradient.rows()));
    }
  }
  const std::int64_t values = gradients.empty() ? 0 : gradients.front().rows();
  std::vector<IntegerScale> scales;
  integer_scales(code, rms, chunks, values, sign, scales);
  std::vector<IntegerWorker> workers;
  for (const Matrix<float>& gradient : gradients) {
    workers.emplace_back(code, static_cast<std::int64_t>(workers.size()), gradient, scales);
  }
  std::vector<IntegerMessage> sent(workers.size());
  for (std::int64_t round = 1; round <= code.shape.rounds() + 1; ++round) {
    std::vector<IntegerMessage> next;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      next.push_back(workers[i].serve(round, sent[i == 0 ? workers.size() - 1 : i - 1]));
      if (observe && round <= code.shape.rounds()) {
        observe(round, static_cast<std::int64_t>(i), next.back());
      }
    }
    sent = std::move(next);
  }
  Matrices<float> sums;
  for (IntegerWorker& worker : workers) {
    sums.push_back(std::move(worker).take());
  }
  return sums;
}

}  // namespace cerar
