#pragma once

#include "coding/ring_shape.h"

#include <Eigen/Core>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// How a worker turns what it kept into the sum (docs/theory.md, "Two decoders").
enum class Decoder {
  own_exact,  ///< keeps o_{i,f} .. o_{i,L}, own contribution removed; ghat_i = G_i + [o_{i,f} ... o_{i,L}] R_i
  paper,  ///< keeps s_{i,N}, r_{i,N} .. r_{i,L}, own contribution inside; ghat_i = [s_{i,N} r_{i,N} ... r_{i,L}] R_i
};

/// "own-exact" or "paper", as code files and options have it.
[[nodiscard]] constexpr std::string_view name(Decoder decoder) noexcept {
  return decoder == Decoder::paper ? "paper" : "own-exact";
}

/// Wire noise and gradient statistics that a code was designed for (docs/theory.md, "Error and noise model").
struct NoiseModel {
  std::string wire = "f32";         ///< what the words on the wire are: one of wire_names() (coding/wire.h)
  double eta = 0;                   ///< rms relative error of one rounding on that wire, see wire_eta
  double correlation = 0;           ///< rho in [0, 1): C = (1 - rho) I + rho 1 1^T between the workers' gradients
  Eigen::MatrixXd covariance = {};  ///< C itself, N x N, where it was measured; empty: as rho has it
};

/// Where a code came from: enough to make it again.
struct Construction {
  std::string name;                          ///< overlapped, cyclic, mpc, mpc-shift, vandermonde or ring
  std::map<std::string, double> parameters;  ///< e.g. {"delta", 4e-4}, {"eps", 0.02}
  std::uint64_t seed = 0;                    ///< of the random matrices; 0 where none were drawn
};

/// A fitted (U, R) for the paper's shift protocol, as a value. Immutable by convention once fitted; hash() identifies
/// it.
struct Code {
  RingShape shape;
  Decoder decoder = Decoder::own_exact;
  /// f: vectors received in rounds f .. L are kept. N - 1 is the paper's c vectors, 1 the full window. The paper's
  /// decoder has max(1, N - 1).
  std::int64_t first_kept_round = 1;
  std::vector<Eigen::MatrixXd> encoders;  ///< U_0 .. U_{N-1}, each L x c; row t - 1 is u_{i,t}
  std::vector<Eigen::MatrixXd> decoders;  ///< R_0 .. R_{N-1}, each kept() x c
  Construction construction;
  NoiseModel noise;
  double predicted_relative_error = 0;                  ///< E ||ghat - g|| / ||g||, rms over workers, under `noise`
  std::optional<double> simulated_relative_error = {};  ///< simulate_mean's, in the wire's arithmetic, where it was run

  /// Vectors a worker keeps: L - f + 1 for own-exact decoding, c for the paper's.
  [[nodiscard]] std::int64_t kept() const noexcept {
    return decoder == Decoder::paper ? shape.chunks : shape.rounds() - first_kept_round + 1;
  }
};

/// Throws std::invalid_argument unless the wire is a known one and the covariance, if there is one, that of `workers`
/// gradients.
void validate(const NoiseModel& noise, std::int64_t workers);

/// Throws std::invalid_argument, naming the matrix and its place, unless every shape fits and every entry is finite,
/// and the noise model is sound.
void validate(const Code& code);

/// 64-bit hash (xxh3) of everything that changes a result: shape, decoder, f, U and R. Equal codes on different
/// machines hash equally; the construction's name and predictions do not count.
[[nodiscard]] std::uint64_t hash(const Code& code);

}  // namespace cerar
