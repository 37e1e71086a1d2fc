#include "optimize/family.h"

#include "coding/cyclic.h"
#include "coding/overlapped.h"
#include "coding/perturbation.h"
#include "coding/ring.h"
#include "coding/vandermonde.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace cerar {
namespace {

// Four grid points a decade: the objective's valleys are about a decade wide (docs/theory.md, "Fitting").
constexpr LogRange spacing_range{1e-6, 3.2, 27};
constexpr LogRange scale_range{1e-5, 1, 21};

Family without_parameters(const RingShape& shape) {
  Family family;
  family.symmetric = true;
  family.encoders = [shape](const std::vector<double>&) {
    // A single worker's own gradient is the sum: whatever is sent is for nobody, so zeros cost least.
    return shape.workers == 1 ? Matrices<double>{Eigen::MatrixXd::Zero(shape.rounds(), shape.chunks)}
                              : ring_encoders<double>(shape);
  };
  return family;
}

Family overlapped_family(const RingShape& shape) {
  Family family;
  family.symmetric = true;
  family.parameters = {"delta"};
  family.box = {scale_range};
  const bool spaced = shape.chunks > 2 * shape.workers;  // else the tail has one copy of each root: nothing to space
  if (spaced) {
    family.parameters.emplace_back("eps");
    family.box.push_back(spacing_range);
  }
  family.encoders = [shape, spaced](const std::vector<double>& p) {
    return overlapped_encoders<double>(shape, p[0], spaced ? p[1] : 0);
  };
  return family;
}

Family cyclic_family(const RingShape& shape) {
  return {{"eps"},
          {spacing_range},
          [shape](const std::vector<double>& p) { return cyclic_encoders<double>(shape, p[0]); },
          true,
          0};
}

Family vandermonde_family(const RingShape& shape) {
  return {{"tau"},
          {{1e-6, 0.9, 27}},
          [shape](const std::vector<double>& p) {
            return vandermonde_encoders<double>(shape, vandermonde_nodes<double>(shape.chunks), p[0]);
          },
          false,
          0};
}

Family perturbation_family(const RingShape& shape, const Perturbation<double>& perturbation, std::uint64_t seed) {
  return {{"eps"},
          {spacing_range},
          [shape, perturbation](const std::vector<double>& p) {
            return perturbation_encoders<double>(shape, perturbation, p[0]);
          },
          false,
          seed};
}

}  // namespace

const std::vector<std::string_view>& construction_names() {
  static const std::vector<std::string_view> names = {"overlapped", "cyclic",      "mpc",
                                                      "mpc-shift",  "vandermonde", "ring"};
  return names;
}

Family make_family(std::string_view construction, const RingShape& shape, std::uint64_t seed) {
  validate(shape);
  const auto& names = construction_names();
  if (std::find(names.begin(), names.end(), construction) == names.end()) {
    throw std::invalid_argument(
        fmt::format("construction \"{}\" is unknown; the known ones are {}", construction, fmt::join(names, ", ")));
  }
  if (construction == "ring" && shape.chunks != shape.workers) {
    throw std::invalid_argument(fmt::format(
        "the construction ring needs chunks = workers, but there are {} chunks for {} workers; take the construction "
        "overlapped for more chunks",
        shape.chunks, shape.workers));
  }
  if (shape.chunks == shape.workers || shape.workers == 1) {
    return without_parameters(shape);
  }
  if (construction == "overlapped") {
    return overlapped_family(shape);
  }
  if (construction == "cyclic") {
    return cyclic_family(shape);
  }
  if (construction == "vandermonde") {
    return vandermonde_family(shape);
  }
  return construction == "mpc" ? perturbation_family(shape, gaussian_perturbation<double>(shape, seed), seed)
                               : perturbation_family(shape, shift_perturbation<double>(shape), 0);
}

}  // namespace cerar
