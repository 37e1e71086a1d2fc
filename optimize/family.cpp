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
#include <utility>

namespace cerar {
namespace {

// Four grid points a decade: the objective's valleys are about a decade wide (docs/theory.md, "Fitting").
constexpr LogRange spacing_range{1e-6, 3.2, 27};
constexpr LogRange scale_range{1e-5, 1, 21};
// With two heads a third parameter makes the grid long, and the valleys are wider.
constexpr LogRange coarse_spacing_range{1e-5, 1, 11};
constexpr LogRange coarse_scale_range{1e-4, 1, 9};

/// Rows of an encoder: rounds 1 .. L and perhaps round 0 after them.
std::vector<std::int64_t> rounds_of(const RingShape& shape, bool round_zero) {
  std::vector<std::int64_t> rounds = all_rounds(shape);
  if (round_zero) {
    rounds.push_back(0);
  }
  return rounds;
}

template <class Turn>
std::vector<Eigen::SparseMatrix<double>> turns_of(const RingShape& shape, Turn&& turn) {
  std::vector<Eigen::SparseMatrix<double>> turns;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    turns.push_back(turn(worker));
  }
  return turns;
}

/// U_w = X T^w for any X near the one in closed form.
void descend_with_turns(Family& family) {
  family.ansatz = [encoders = family.encoders, turns = family.turns](const std::vector<double>& point) {
    return make_turned_ansatz(encoders(point), turns);
  };
}

/// Codes that are exact, and for which there is nothing to choose.
Family exact_family(const RingShape& shape, bool round_zero) {
  Family family;
  family.turns = turns_of(shape, [&](std::int64_t worker) {
    // Two workers send each other chunk after chunk; in a ring of N chunks the turn is one chain further.
    return cyclic_turn<double>(shape.workers == 2 ? 1 : shape.workers, shape.chunks, shape.workers == 2 ? 0 : worker);
  });
  family.encoders = [shape, rounds = rounds_of(shape, round_zero)](const std::vector<double>&) {
    Matrices<double> encoders;
    for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
      Eigen::MatrixXd encoder = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(rounds.size()), shape.chunks);
      for (std::size_t row = 0; row < rounds.size() && shape.workers > 1; ++row) {
        // A single worker's own gradient is the sum: whatever is sent is for nobody, so zeros cost least.
        const std::int64_t chunk =
            shape.workers == 2 ? wrap(rounds[row] - 1, shape.chunks) : chain(worker, rounds[row], shape.workers);
        encoder(static_cast<Eigen::Index>(row), chunk) = 1;
      }
      encoders.push_back(std::move(encoder));
    }
    return encoders;
  };
  return family;
}

Family overlapped_family(const RingShape& shape) {
  Family family;
  family.turns = turns_of(shape, [&](std::int64_t worker) { return overlapped_turn<double>(shape, 1, worker); });
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
  descend_with_turns(family);
  return family;
}

Family two_headed_family(const RingShape& shape) {
  Family family;
  family.turns = turns_of(shape, [&](std::int64_t worker) { return overlapped_turn<double>(shape, 2, worker); });
  family.parameters = {"second", "delta", "eps"};
  family.box = {coarse_scale_range, coarse_scale_range, coarse_spacing_range};
  family.encoders = [shape](const std::vector<double>& p) {
    return two_headed_encoders<double>(shape, p[0], p[1], p[2]);
  };
  descend_with_turns(family);
  return family;
}

Family cyclic_family(const RingShape& shape, bool round_zero) {
  Family family;
  family.turns =
      turns_of(shape, [&](std::int64_t worker) { return cyclic_turn<double>(shape.workers, shape.chunks, worker); });
  family.parameters = {"eps"};
  family.box = {spacing_range};
  family.encoders = [shape, rounds = rounds_of(shape, round_zero)](const std::vector<double>& p) {
    return cyclic_encoders<double>(shape, p[0], rounds);
  };
  descend_with_turns(family);
  return family;
}

Family vandermonde_family(const RingShape& shape) {
  Family family;
  family.parameters = {"tau"};
  family.box = {{1e-6, 0.9, 27}};
  family.encoders = [shape](const std::vector<double>& p) {
    return vandermonde_encoders<double>(shape, vandermonde_nodes<double>(shape.chunks), p[0]);
  };
  return family;
}

Family perturbation_family(const RingShape& shape, const Perturbation<double>& perturbation, std::uint64_t seed,
                           bool round_zero) {
  Family family;
  family.parameters = {"eps"};
  family.box = {spacing_range};
  family.seed = seed;
  const std::vector<std::int64_t> rounds = rounds_of(shape, round_zero);
  family.encoders = [shape, perturbation, rounds](const std::vector<double>& p) {
    return perturbation_encoders<double>(shape, perturbation, p[0], rounds);
  };
  family.ansatz = [perturbation, rounds](const std::vector<double>& p) {
    return make_perturbation_ansatz({perturbation.base, p[0] * perturbation.direction}, rounds);
  };
  return family;
}

}  // namespace

const std::vector<std::string_view>& construction_names() {
  static const std::vector<std::string_view> names = {"overlapped", "cyclic",      "mpc",
                                                      "mpc-shift",  "vandermonde", "ring"};
  return names;
}

std::vector<Family> make_families(std::string_view construction, const RingShape& shape, std::uint64_t seed,
                                  bool round_zero) {
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
  if (round_zero && construction != "cyclic" && construction != "mpc" && construction != "mpc-shift") {
    throw std::invalid_argument(
        fmt::format("with the own block included the construction must be cyclic, mpc or mpc-shift, which are decoded "
                    "from the last c vectors, not {}",
                    construction));
  }
  if (shape.chunks == shape.workers || shape.workers <= 2) {
    return {exact_family(shape, round_zero)};
  }
  if (construction == "overlapped") {
    std::vector<Family> families = {overlapped_family(shape)};
    if (shape.chunks > 3 * shape.workers) {
      families.push_back(two_headed_family(shape));
    }
    return families;
  }
  if (construction == "cyclic") {
    return {cyclic_family(shape, round_zero)};
  }
  if (construction == "vandermonde") {
    return {vandermonde_family(shape)};
  }
  return {construction == "mpc"
              ? perturbation_family(shape, gaussian_perturbation<double>(shape, seed), seed, round_zero)
              : perturbation_family(shape, shift_perturbation<double>(shape), 0, round_zero)};
}

}  // namespace cerar
