#include "coding/wire_reference.h"

#include "coding/reference.h"
#include "coding/wire.h"

#include <Eigen/Core>
#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace cerar {
namespace {

/// Rounds what is sent to Word, to nearest.
template <class Word>
struct SentAs {
  [[nodiscard]] Vector<float> operator()(const Vector<float>& sum) const {
    return sum.cast<Word>().template cast<float>();
  }
};

Matrices<double> integer_all_reduce(const Code& code, const Matrices<double>& gradients, const Wire& wire) {
  const auto encoding = [&](std::size_t worker, std::int64_t round) {
    return encode<double>(gradients[worker], code.encoders[worker].row(round - 1).transpose());
  };
  double peak = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    for (std::int64_t t = 1; t <= code.shape.rounds(); ++t) {
      const Vector<double> delta = encoding(i, t);
      if (!delta.allFinite()) {
        throw std::invalid_argument(
            fmt::format("worker {}'s gradient is not finite; {} words can't carry it", i, wire.name));
      }
      peak = std::max(peak, delta.size() > 0 ? delta.cwiseAbs().maxCoeff() : 0);
    }
  }
  const double step = peak > 0 ? peak / static_cast<double>(wire.levels(code.shape.workers)) : 1;
  const auto quantised = [&](std::size_t worker, std::int64_t round) {
    return Vector<std::int64_t>((encoding(worker, round) / step).array().rint().cast<std::int64_t>());
  };
  const auto checked = [&](const Vector<std::int64_t>& sum) {
    if (sum.size() > 0 && sum.cwiseAbs().maxCoeff() >= std::int64_t{1} << (wire.bits - 1)) {
      throw std::overflow_error(fmt::format("a sum does not fit in {} words", wire.name));
    }
    return sum;
  };
  KeptVectors<std::int64_t> kept(code, gradients.front().rows());
  run_rounds<std::int64_t>(code.shape, quantised, checked, kept);
  Matrices<double> results;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    results.push_back(decode<double>(code, i, gradients[i], step * kept.matrices()[i].cast<double>()));
  }
  return results;
}

}  // namespace

Matrices<double> wire_all_reduce(const Code& code, const Matrices<float>& gradients) {
  validate(code);
  check_gradients(code, gradients);
  const Wire& wire = find_wire(code.noise.wire);
  if (wire.is_integer()) {
    return integer_all_reduce(code, cast<double>(gradients), wire);
  }
  if (wire.name == "f16") {
    return cast<double>(reference_all_reduce<float>(code, gradients, SentAs<Eigen::half>{}));
  }
  if (wire.name == "bf16") {
    return cast<double>(reference_all_reduce<float>(code, gradients, SentAs<Eigen::bfloat16>{}));
  }
  return cast<double>(reference_all_reduce<float>(code, gradients));
}

}  // namespace cerar
