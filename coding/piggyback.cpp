#include "coding/piggyback.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace cerar {

namespace {

/// k1 and k2 of the error law (docs/piggyback.md, eq. 5), the latter with the own rounding corrected.
double contamination(std::int64_t workers) {
  const auto n = static_cast<double>(workers);
  return (n - 1) * (n - 2) / (12 * n * n);
}

double amplification(std::int64_t workers) {
  const auto n = static_cast<double>(workers);
  return (n - 1) * (n - 1) / n;
}

/// What correlation leaves of the contamination, against the norm of the sum.
double correlation_factor(std::int64_t workers, double rho) {
  return (1 - rho) / (1 + static_cast<double>(workers - 1) * rho);
}

void validate_integer(const PiggybackCode& code) {
  if (code.is_exact()) {
    throw std::invalid_argument(fmt::format(
        "with {} workers and {} chunks the piggyback ring is the exact ring, in float32; take the f32 wire, "
        "or at least 3 workers and {} chunks for i32",
        code.shape.workers, code.shape.chunks, 2 * code.shape.workers));
  }
  if (!code.adapts_scale) {
    throw std::invalid_argument("adapts_scale is false; the scales of i32 words always adapt");
  }
  if (!(code.noise.correlation >= 0 && code.noise.correlation < 1)) {
    throw std::invalid_argument(
        fmt::format("correlation is {}; it must be at least 0 and less than 1", code.noise.correlation));
  }
}

}  // namespace

void validate(const PiggybackCode& code) {
  validate(code.shape);
  const std::int64_t workers = code.shape.workers;
  const std::int64_t chunks = code.shape.chunks;
  if (chunks % workers != 0) {
    const std::int64_t below = chunks / workers * workers;
    throw std::invalid_argument(fmt::format(
        "the piggyback ring needs chunks to be a multiple of workers, and {} is none of {}; the nearest are "
        "{} and {}",
        chunks, workers, below, below + workers));
  }
  if (!(code.d > 0) || !std::isfinite(code.d) || static_cast<double>(static_cast<float>(code.d)) != code.d) {
    throw std::invalid_argument(fmt::format("d is {}; it must be a positive float32 value", code.d));
  }
  if (code.noise.wire != "f32" && !code.is_integer()) {
    throw std::invalid_argument(fmt::format("wire \"{}\" is unknown to the piggyback ring; it knows f32 and {}",
                                            code.noise.wire, kIntegerWire));
  }
  if (code.is_integer()) {
    validate_integer(code);
  }
}

std::uint64_t hash(const PiggybackCode& code) {
  // The steps of integer words follow from rho, too.
  const std::uint64_t form =
      code.is_integer() ? std::bit_cast<std::uint64_t>(2 + code.noise.correlation) : (code.adapts_scale ? 1U : 0U);
  const std::array<std::uint64_t, 5> content = {
      0x7069676779626163,  // "piggybac": no shift code hashes like one of these
      static_cast<std::uint64_t>(code.shape.workers), static_cast<std::uint64_t>(code.shape.chunks),
      std::bit_cast<std::uint64_t>(code.d), form};
  return XXH3_64bits(content.data(), sizeof content);
}

double predict_piggyback_error(const RingShape& shape, double d, const NoiseModel& noise) {
  const std::int64_t workers = shape.workers;
  const std::int64_t groups = shape.chunks / workers;
  if (workers == 1) {
    return 0;
  }
  const double hops = static_cast<double>(workers - 1) / static_cast<double>(workers);
  // An exact sum still rounds N - 1 additions, in a chain of partial sums of 2 .. N terms.
  const double rounding = noise.eta * noise.eta * static_cast<double>(workers) / 2 * hops;
  if (groups == 1 || workers == 2) {
    return std::sqrt(rounding);
  }
  const double share = static_cast<double>(groups - 1) / static_cast<double>(groups);
  const double mixed = contamination(workers) * d * d * correlation_factor(workers, noise.correlation);
  const double amplified = amplification(workers) * noise.eta * noise.eta / (d * d);
  return std::sqrt(share * (mixed + amplified) + rounding);
}

PiggybackCode make_piggyback_code(const RingShape& shape, const NoiseModel& noise, bool adapts_scale) {
  if (!(noise.correlation >= 0 && noise.correlation < 1) || !(noise.eta > 0)) {
    throw std::invalid_argument(
        fmt::format("correlation is {} and eta {}; they must be in [0, 1) and positive", noise.correlation, noise.eta));
  }
  PiggybackCode code{.shape = shape, .d = 1, .adapts_scale = adapts_scale, .noise = noise};
  validate(code);
  if (!code.is_exact()) {
    const double k1 = contamination(shape.workers) * correlation_factor(shape.workers, noise.correlation);
    code.d = static_cast<double>(
        static_cast<float>(std::pow(amplification(shape.workers) / k1, 0.25) * std::sqrt(noise.eta)));
  }
  code.predicted_relative_error = predict_piggyback_error(shape, code.d, noise);
  return code;
}

std::int64_t piggyback_chunks(std::int64_t workers, std::int64_t values, const LinkSpeed& link) {
  if (workers < 1 || values < 1 || !(link.latency_seconds > 0) || !(link.bytes_per_second > 0)) {
    throw std::invalid_argument(
        fmt::format("{} workers, {} values, a latency of {} s and {} bytes a second: all must be "
                    "positive",
                    workers, values, link.latency_seconds, link.bytes_per_second));
  }
  if (workers <= 2) {
    return workers;
  }
  const double bytes = 4 * static_cast<double>(values);
  const double best =
      std::sqrt(bytes * static_cast<double>(workers - 2) / (link.latency_seconds * link.bytes_per_second));
  const double groups = std::round(best / static_cast<double>(workers));
  return workers * static_cast<std::int64_t>(std::clamp(groups, 1.0, 64.0));
}

double piggyback_scale(double now, double next) noexcept {
  constexpr double kMost = 20;
  if (!(next > 0) || !std::isfinite(now) || !std::isfinite(next)) {
    return 1;
  }
  const double exponent = now > 0 ? std::round(std::log2(now / next)) : -kMost;
  return std::exp2(std::clamp(exponent, -kMost, kMost));
}

}  // namespace cerar
