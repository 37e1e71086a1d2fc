#include "optimize/candidate.h"

#include "coding/covariance.h"
#include "coding/decoding.h"
#include "coding/received.h"
#include "coding/wire.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cerar {
namespace {

Eigen::MatrixXd to_float(const Eigen::MatrixXd& matrix) { return matrix.cast<float>().cast<double>(); }

/// U or R as the executors of that wire have it: float32, but for integer words, which are encoded and decoded in
/// double.
Eigen::MatrixXd to_wire(const CandidateContext& context, const Eigen::MatrixXd& matrix) {
  return find_wire(context.noise.wire).is_integer() ? matrix : to_float(matrix);
}

Matrices<double> to_wire(const CandidateContext& context, const Matrices<double>& encoders) {
  Matrices<double> rounded;
  for (const Eigen::MatrixXd& encoder : encoders) {
    rounded.push_back(to_wire(context, encoder));
  }
  return rounded;
}

struct Decoded {
  Eigen::MatrixXd received;
  BestDecoder<double> best;
};

Decoded decode(const CandidateContext& context, const Matrices<double>& encoders, const NoiseSources& sources,
               std::int64_t worker) {
  const Eigen::MatrixXd covariance = worker_covariance(context.noise, context.shape.workers);
  const Eigen::MatrixXd received = received_matrix<double>(encoders, context.decoder, worker, context.first_kept_round);
  Eigen::MatrixXd factor =
      noise_factor(sources, received, context.decoder, worker, context.first_kept_round, context.noise, context.entry);
  if (context.white > 0) {
    const double white = context.white * std::sqrt(signal_variance<double>(received, covariance).mean());
    factor.conservativeResize(factor.rows() + received.cols(), received.cols());
    factor.bottomRows(received.cols()) = white * Eigen::MatrixXd::Identity(received.cols(), received.cols());
  }
  return {received, optimal_decoder<double>(
                        received, factor, decoding_target<double>(context.shape, context.decoder, worker), covariance)};
}

bool all_finite(const Matrices<double>& matrices) {
  return std::all_of(matrices.begin(), matrices.end(), [](const auto& matrix) { return matrix.allFinite(); });
}

}  // namespace

double candidate_error(const CandidateContext& context, const Matrices<double>& encoders, bool symmetric) {
  const Matrices<double> rounded = to_wire(context, encoders);
  if (!all_finite(rounded)) {
    return std::numeric_limits<double>::infinity();
  }
  if (context.decoder == Decoder::own_exact) {
    const ErrorModel model{context.shape, OwnBlock::exact, context.first_kept_round, context.noise, context.entry,
                           context.white, symmetric};
    return Objective<double>(model).evaluate(rounded, false, false).error;
  }
  const NoiseSources sources = noise_sources(rounded, context.noise, context.entry);
  const std::int64_t judged = symmetric ? 1 : context.shape.workers;
  double sum = 0;
  for (std::int64_t worker = 0; worker < judged; ++worker) {
    sum += decode(context, rounded, sources, worker).best.squared_error;
  }
  const double truth = worker_covariance(context.noise, context.shape.workers).sum();
  return sum / (static_cast<double>(judged * context.shape.chunks) * truth);
}

Code make_candidate(const CandidateContext& context, const Matrices<double>& encoders) {
  Code code;
  code.shape = context.shape;
  code.decoder = context.decoder;
  code.first_kept_round = context.first_kept_round;
  code.noise = context.noise;
  code.encoders = to_wire(context, encoders);
  const NoiseSources sources = noise_sources(code.encoders, context.noise, context.entry);
  const Eigen::MatrixXd covariance = worker_covariance(context.noise, context.shape.workers);
  for (std::int64_t worker = 0; worker < context.shape.workers; ++worker) {
    const Decoded decoded = decode(context, code.encoders, sources, worker);
    const Eigen::VectorXd size = signal_variance<double>(decoded.received, covariance).cwiseSqrt();
    // What contributes less than one rounding of a value is dropped: it costs a multiplication and gains nothing.
    const Eigen::MatrixXd contribution = size.asDiagonal() * decoded.best.decoder.cwiseAbs();
    code.decoders.push_back(
        to_wire(context, (contribution.array() < context.noise.eta).select(0, decoded.best.decoder)));
  }
  return code;
}

Matrices<double> scaled_to_wire(const CandidateContext& context, const Matrices<double>& encoders, bool symmetric) {
  constexpr int kFactors = 16;
  double largest = 0;
  for (const Eigen::MatrixXd& encoder : encoders) {
    largest = std::max(largest, encoder.rowwise().norm().maxCoeff());
  }
  Matrices<double> best = encoders;
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kFactors && largest > 0; ++k) {
    Matrices<double> scaled = encoders;
    for (Eigen::MatrixXd& encoder : scaled) {
      encoder *= std::exp2(static_cast<double>(k) / kFactors) / largest;
    }
    const double error = candidate_error(context, scaled, symmetric);
    if (error < least) {
      least = error;
      best = std::move(scaled);
    }
  }
  return best;
}

}  // namespace cerar
