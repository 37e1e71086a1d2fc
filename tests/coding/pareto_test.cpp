#include "coding/reference.h"
#include "coding/ring.h"
#include "coding/simulation.h"
#include "optimize/fit.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <functional>

namespace cerar {
namespace {

using Rounding = std::function<void(Vector<float>&)>;

/// To bfloat16, to nearest even.
void to_bf16(Vector<float>& values) {
  for (float& value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    value = std::bit_cast<float>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) & 0xFFFF0000U);
  }
}

/// To 16-bit integers with one scale for each 256 values.
void to_int16_blocks(Vector<float>& values) {
  for (Eigen::Index first = 0; first < values.size(); first += 256) {
    auto block = values.segment(first, std::min<Eigen::Index>(256, values.size() - first));
    const float step = block.cwiseAbs().maxCoeff() / 32767;
    block = step == 0 ? block : Vector<float>((block / step).array().round() * step);
  }
}

/// The exact ring with every message rounded before it is sent: N - 1 hops of partial sums, then the sum handed round
/// as it is.
double quantised_ring_error(std::int64_t workers, const Rounding& round) {
  const RingShape shape{workers, workers};
  const Matrices<float> gradients = random_gradients<float>(shape, 4096, 0, 11);
  Matrices<float> results(1, Matrix<float>(4096, workers));
  for (Eigen::Index chunk = 0; chunk < workers; ++chunk) {
    Vector<float> message = gradients[0].col(chunk);
    for (std::size_t i = 1; i < gradients.size(); ++i) {
      round(message);
      message += gradients[i].col(chunk);
    }
    round(message);
    results[0].col(chunk) = message;
  }
  return measured_error(gradients, results).relative;
}

double coded_error(std::int64_t workers, std::int64_t chunks) {
  FitProblem problem;
  problem.shape = {workers, chunks};
  return simulate(fit(problem).code, 2000, 11).relative;
}

TEST_CASE("bytes against error: where the wire's format may change, a quantised exact ring is the better bargain") {
  for (const std::int64_t workers : {4, 8}) {
    const double exact_rate = RingShape{workers, workers}.rate();
    const double bf16 = quantised_ring_error(workers, to_bf16);
    const double int16 = quantised_ring_error(workers, to_int16_blocks);
    const double coded = coded_error(workers, 3 * workers);
    const double coded_bytes = 4 * RingShape{workers, 3 * workers}.rate();
    MESSAGE(fmt::format(
        "N = {}: exact ring float32 {:.2f} B; bf16 {:.2f} B {:.3f} %; int16 blocks of 256 {:.2f} B {:.4f} %; "
        "coded float32, c = 3N {:.2f} B {:.4f} %",
        workers, 4 * exact_rate, 2 * exact_rate, 100 * bf16, (2 + 4.0 / 256) * exact_rate, 100 * int16, coded_bytes,
        100 * coded));
    CHECK(coded_bytes < 4 * exact_rate);                // fewer bytes than the float32 ring,
    CHECK(coded < bf16 / 5);                            // and far more exact than bfloat16,
    CHECK(int16 < coded);                               // but an integer wire has both less error
    CHECK((2 + 4.0 / 256) * exact_rate < coded_bytes);  // and fewer bytes
  }
}

}  // namespace
}  // namespace cerar
