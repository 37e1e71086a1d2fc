#include "coding/prediction.h"

#include "coding/conditioning.h"
#include "coding/covariance.h"
#include "coding/received.h"
#include "coding/wire.h"

#include <algorithm>
#include <cmath>

namespace cerar {
namespace {

Eigen::MatrixXd received(const Code& code, std::int64_t worker) {
  return received_matrix<double>(code.encoders, code.decoder, worker, code.first_kept_round);
}

/// Variance of the additions in decoding, per chunk: after the first product every partial sum rounds, and so does
/// adding the own chunk (eq. 5).
Eigen::VectorXd accumulation_variance(const Code& code, const Eigen::MatrixXd& kept, std::int64_t worker) {
  const Eigen::MatrixXd& decoder = code.decoders[static_cast<std::size_t>(worker)];
  const Eigen::MatrixXd covariance = worker_covariance(code.noise, code.shape.workers);
  Eigen::VectorXd variance = Eigen::VectorXd::Zero(decoder.cols());
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(kept.rows(), decoder.cols());
  Eigen::VectorXi terms = Eigen::VectorXi::Zero(decoder.cols());
  for (Eigen::Index m = 0; m < decoder.rows(); ++m) {
    sum += kept.col(m) * decoder.row(m);
    const Eigen::VectorXd now = signal_variance<double>(sum, covariance);
    for (Eigen::Index k = 0; k < decoder.cols(); ++k) {
      if (decoder(m, k) != 0 && terms(k)++ > 0) {
        variance(k) += now(k);
      }
    }
  }
  if (code.decoder == Decoder::own_exact) {
    for (Eigen::Index k = 0; k < decoder.cols(); ++k) {
      variance(k) += terms(k) > 0 ? covariance.sum() : 0;
    }
  }
  return code.noise.eta * code.noise.eta * variance;
}

}  // namespace

Code rounded_to_wire(const Code& code) {
  Code rounded = code;
  if (find_wire(code.noise.wire).is_integer()) {
    return rounded;
  }
  for (auto* matrices : {&rounded.encoders, &rounded.decoders}) {
    for (Eigen::MatrixXd& matrix : *matrices) {
      matrix = matrix.cast<float>().cast<double>().eval();
    }
  }
  return rounded;
}

ErrorPrediction predict_error(const Code& code) {
  return predict_error(rounded_to_wire(code), noise_entry_of(code.noise.wire));
}

ErrorPrediction predict_error(const Code& code, NoiseEntry entry, std::int64_t workers) {
  validate(code);
  const RingShape& shape = code.shape;
  const Eigen::MatrixXd covariance = worker_covariance(code.noise, shape.workers);
  const double truth = covariance.sum();  // variance of one value of the true sum
  const NoiseSources sources = noise_sources(code.encoders, code.noise, entry);
  ErrorPrediction prediction;
  double squares = 0;
  const std::int64_t count = workers > 0 ? std::min(workers, shape.workers) : shape.workers;
  for (std::int64_t i = 0; i < count; ++i) {
    const Eigen::MatrixXd kept = received(code, i);
    const Eigen::MatrixXd& decoder = code.decoders[static_cast<std::size_t>(i)];
    const Eigen::MatrixXd factor =
        noise_factor(sources, kept, code.decoder, i, code.first_kept_round, code.noise, entry);
    const Eigen::MatrixXd off = kept * decoder - decoding_target<double>(shape, code.decoder, i);
    const Eigen::VectorXd deterministic = signal_variance<double>(off, covariance);
    Eigen::VectorXd noise = (factor * decoder).colwise().squaredNorm().transpose();
    if (entry == NoiseEntry::operations) {
      noise += accumulation_variance(code, kept, i);
    }
    const double relative_squared = (deterministic.sum() + noise.sum()) / (static_cast<double>(shape.chunks) * truth);
    squares += relative_squared;
    prediction.workers.push_back({deterministic.cwiseSqrt(), noise.cwiseSqrt(), std::sqrt(relative_squared)});
  }
  prediction.relative = std::sqrt(squares / static_cast<double>(count));
  return prediction;
}

Eigen::MatrixXd result_map(const Code& code, std::int64_t worker) {
  validate(code);
  Eigen::MatrixXd map = received(code, worker) * code.decoders[static_cast<std::size_t>(worker)];
  if (code.decoder == Decoder::own_exact) {
    map.middleRows(worker * code.shape.chunks, code.shape.chunks).setIdentity();
  }
  return map;
}

double phi(const Code& code) {
  double sum = 0;
  for (std::int64_t i = 0; i < code.shape.workers; ++i) {
    sum += (received(code, i) * code.decoders[static_cast<std::size_t>(i)] -
            decoding_target<double>(code.shape, code.decoder, i))
               .squaredNorm();
  }
  return sum;
}

double kappa_max(const Code& code) {
  double largest = 1;  // also for a single worker, who decodes nothing
  for (std::int64_t i = 0; i < code.shape.workers && code.shape.workers > 1; ++i) {
    largest = std::max(largest, kappa2(received(code, i)));
  }
  return largest;
}

}  // namespace cerar
