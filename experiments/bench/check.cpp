#include "experiments/bench/check.h"

#include "coding/piggyback_integer_reference.h"
#include "coding/piggyback_reference.h"
#include "coding/prediction.h"
#include "collective/slices.h"
#include "experiments/bench/inputs.h"

#include <algorithm>
#include <cmath>

namespace cerar::bench {

namespace {

constexpr std::size_t kBlock = 1 << 16;

/// Calls visit(first, sum) for one block after the other of the true sum, formed in double in rank order.
template <class Visit>
void for_each_sum(InputSet set, std::uint64_t seed, std::int64_t workers, double correlation, std::size_t values,
                  const Visit& visit) {
  std::vector<float> input(kBlock);
  std::vector<double> sum(kBlock);
  for (std::size_t first = 0; first < values; first += kBlock) {
    const std::size_t length = std::min(kBlock, values - first);
    std::fill_n(sum.begin(), length, 0.0);
    for (std::int64_t rank = 0; rank < workers; ++rank) {
      fill_input(set, seed, rank, static_cast<std::int64_t>(first), std::span(input).first(length), correlation);
      std::transform(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(length), sum.begin(), sum.begin(),
                     [](float value, double partial) { return partial + static_cast<double>(value); });
    }
    visit(first, std::span<const double>(sum).first(length));
  }
}

}  // namespace

ResultCheck::ResultCheck(Algorithm algorithm, const std::optional<RingCode>& code, std::int64_t rank,
                         std::int64_t workers, int sign)
    : rank_(rank), workers_(workers), sign_(sign) {
  if (workers == 1) {
    return;
  }
  if (algorithm == Algorithm::coded) {
    const Code rounded = rounded_to_wire(std::get<Code>(*code));
    chunks_ = rounded.shape.chunks;
    map_ = result_map(rounded, rank);
    noise_ = predict_error(rounded).workers[static_cast<std::size_t>(rank)].noise;
  } else if (algorithm == Algorithm::piggyback && !std::get<PiggybackCode>(*code).is_exact()) {
    piggyback_ = std::get<PiggybackCode>(*code);
    chunks_ = piggyback_->shape.chunks;
    // The prediction is relative to the sum of N values of unit variance; all of it is granted to every chunk.
    noise_ = Eigen::VectorXd::Constant(chunks_,
                                       piggyback_->predicted_relative_error * std::sqrt(static_cast<double>(workers)));
    if (piggyback_->is_integer()) {
      noise_.setZero();  // the reference has the result's very bits
    }
  }
}

Eigen::MatrixXd ResultCheck::expected(const Matrices<double>& inputs) const {
  if (piggyback_ && piggyback_->is_integer()) {
    Matrices<float> gradients;
    for (const Eigen::MatrixXd& input : inputs) {
      gradients.push_back(input.cast<float>());
    }
    return piggyback_integer_reference(*piggyback_, gradients, sign_)[static_cast<std::size_t>(rank_)].cast<double>();
  }
  if (piggyback_) {
    return piggyback_reference<double>(*piggyback_, inputs, sign_)[static_cast<std::size_t>(rank_)];
  }
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(inputs.front().rows(), chunks_);
  for (std::int64_t worker = 0; worker < workers_; ++worker) {
    result += inputs[static_cast<std::size_t>(worker)] * map_.middleRows(worker * chunks_, chunks_);
  }
  return result;
}

std::int64_t ResultCheck::count_wrong(std::span<const float> result, std::uint64_t seed,
                                      std::int64_t slice_chunk_values) const {
  if (chunks_ == 0) {
    return count_wrong_sums(result, seed);
  }
  std::int64_t wrong = 0;
  const std::vector<std::int64_t> lengths = {static_cast<std::int64_t>(result.size())};
  std::vector<float> input;
  for (const Slice& slice : cut_slices(lengths, chunks_, slice_chunk_values)) {
    // Inputs are made in pairs from an even index on.
    const std::int64_t first = slice.offset - slice.offset % 2;
    input.resize(static_cast<std::size_t>(slice.offset + slice.length - first));
    Matrices<double> inputs(static_cast<std::size_t>(workers_));
    for (std::int64_t worker = 0; worker < workers_; ++worker) {
      Matrix<double>& chunks = inputs[static_cast<std::size_t>(worker)];
      chunks = Matrix<double>::Zero(slice.chunk_values, chunks_);
      fill_input(InputSet::integers, seed, worker, first, input);
      std::copy(input.begin() + (slice.offset - first), input.end(), chunks.data());
    }
    const Eigen::MatrixXd right = expected(inputs);
    for (std::int64_t x = 0; x < slice.length; ++x) {
      const double difference =
          static_cast<double>(result[static_cast<std::size_t>(slice.offset + x)]) - right.data()[x];
      const double tolerance = kNoiseMargin * kIntegersDeviation * noise_(x / slice.chunk_values);
      // Not "greater than": a NaN is wrong.
      wrong += std::abs(difference) <= tolerance ? 0 : 1;
    }
  }
  return wrong;
}

std::int64_t ResultCheck::count_wrong_sums(std::span<const float> result, std::uint64_t seed) const {
  std::int64_t wrong = 0;
  for_each_sum(InputSet::integers, seed, workers_, 0, result.size(),
               [&](std::size_t first, std::span<const double> sum) {
                 for (std::size_t x = 0; x < sum.size(); ++x) {
                   wrong += static_cast<double>(result[first + x]) == sum[x] ? 0 : 1;
                 }
               });
  return wrong;
}

double relative_error(std::span<const float> result, std::uint64_t seed, std::int64_t workers, double correlation) {
  double error = 0;
  double norm = 0;
  for_each_sum(InputSet::gradients, seed, workers, correlation, result.size(),
               [&](std::size_t first, std::span<const double> sum) {
                 for (std::size_t x = 0; x < sum.size(); ++x) {
                   const double difference = static_cast<double>(result[first + x]) - sum[x];
                   error += difference * difference;
                   norm += sum[x] * sum[x];
                 }
               });
  return norm == 0 ? 0 : std::sqrt(error / norm);
}

double rank_divergence(Communicator& communicator, std::span<const float> result) {
  const auto size = static_cast<std::size_t>(communicator.size());
  std::vector<float> all(size * kBlock);
  std::vector<double> difference(size);
  double norm = 0;
  for (std::size_t first = 0; first < result.size(); first += kBlock) {
    const std::span<const float> mine = result.subspan(first, std::min(kBlock, result.size() - first));
    communicator.all_gather(mine, std::span(all).first(size * mine.size()));
    for (std::size_t x = 0; x < mine.size(); ++x) {
      const double base = all[x];
      norm += base * base;
      for (std::size_t rank = 1; rank < size; ++rank) {
        const double gap = static_cast<double>(all[rank * mine.size() + x]) - base;
        difference[rank] += gap * gap;
      }
    }
  }
  return norm == 0 ? 0 : std::sqrt(*std::ranges::max_element(difference) / norm);
}

}  // namespace cerar::bench
