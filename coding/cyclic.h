#pragma once

#include "coding/matrix.h"
#include "coding/ring.h"
#include "coding/ring_shape.h"

#include <Eigen/SparseCore>
#include <boost/math/constants/constants.hpp>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace cerar {

/// `copies` node offsets, equispaced in [-1, 1] and symmetric about 0; one copy alone sits at 0.
template <class Scalar>
[[nodiscard]] Scalar node_offset(std::int64_t copy, std::int64_t copies) {
  return copies == 1 ? Scalar(0) : Scalar(2 * copy - (copies - 1)) / Scalar(copies - 1);
}

/// One invariant block of T and S: the root exp(2 pi i k / N) and its copy's offset x. A `pair` is 2 x 2 (the root with
/// its conjugate, or +x with -x on a real root), otherwise 1 x 1.
template <class Scalar>
struct NodeBlock {
  std::int64_t root = 0;  ///< k in [0, N)
  Scalar offset = 0;      ///< x in [-1, 1]
  bool pair = false;
};

/// Extra roots for c mod N = s chunks: s residues spread evenly over the circle and closed under conjugation (k and N -
/// k); of each conjugate pair only the one below N / 2 is listed.
[[nodiscard]] inline std::vector<std::int64_t> extra_roots(std::int64_t workers, std::int64_t rest) {
  std::vector<std::int64_t> roots;
  for (std::int64_t j = 0; j < (rest + 1) / 2; ++j) {
    // N (j or j + 1/2) / s to the nearest integer, so that s roots with their conjugates lie N / s apart.
    const std::int64_t twice = 2 * j + (rest % 2 == 0 ? 1 : 0);
    roots.push_back((twice * workers + rest) / (2 * rest));
  }
  return roots;
}

/// The blocks of T for N workers and c chunks: floor(c / N) copies of every N-th root of unity and the extra ones.
template <class Scalar>
[[nodiscard]] std::vector<NodeBlock<Scalar>> node_blocks(std::int64_t workers, std::int64_t chunks) {
  const std::int64_t rest = chunks % workers;
  std::vector<std::int64_t> extra(static_cast<std::size_t>(workers), 0);
  if (rest > 0) {
    for (const std::int64_t root : extra_roots(workers, rest)) {
      extra[static_cast<std::size_t>(root)] = 1;
    }
  }
  std::vector<NodeBlock<Scalar>> blocks;
  for (std::int64_t root = 0; 2 * root <= workers; ++root) {
    const std::int64_t copies = chunks / workers + extra[static_cast<std::size_t>(root)];
    const bool real = root == 0 || 2 * root == workers;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const Scalar offset = node_offset<Scalar>(copy, copies);
      if (!real || offset > Scalar(0)) {
        blocks.push_back({root, offset, true});
      } else if (offset == Scalar(0)) {
        blocks.push_back({root, offset, false});
      }  // a real root's copy at -x is the second dimension of the pair at +x
    }
  }
  return blocks;
}

/// (cos, sin) of 2 pi turns / N + rest. Whole quarter turns are swapped in, not multiplied, so that with rest = 0 what
/// is zero is exactly zero: the executors skip zero coefficients.
template <class Scalar>
[[nodiscard]] std::pair<Scalar, Scalar> cos_sin(std::int64_t turns, std::int64_t workers, const Scalar& rest) {
  using std::cos;
  using std::sin;
  const std::int64_t quarters = 4 * wrap(turns, workers) / workers;
  const std::int64_t left = 4 * wrap(turns, workers) - quarters * workers;  // in quarter turns times N
  const Scalar angle = boost::math::constants::half_pi<Scalar>() * Scalar(left) / Scalar(workers) + rest;
  const Scalar c = cos(angle);
  const Scalar s = sin(angle);
  switch (quarters) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

/// u_{worker,time} of the cyclic node code: b S^t T^w, S = exp(eps H / N) T^T (docs/theory.md, eq. 16). `time` may be
/// any integer: a shift of it is an orthogonal change of basis.
///
/// If N divides c the row is written in the basis in which T permutes the chains: only the c / N chunks j N + m of
/// chain m = (t - 1 - w) mod N are nonzero, and the phase pi / 4 makes all of them weigh alike. Otherwise it is dense.
template <class Scalar>
[[nodiscard]] Vector<Scalar> cyclic_row(std::int64_t workers, std::int64_t chunks, const Scalar& eps,
                                        std::int64_t worker, std::int64_t time) {
  using std::sqrt;
  const bool by_chain = chunks % workers == 0;
  const std::int64_t copies = chunks / workers;
  const Scalar scale = Scalar(1) / sqrt(Scalar(by_chain ? copies : chunks));
  Vector<Scalar> row = Vector<Scalar>::Zero(chunks);
  Eigen::Index next = 0;
  const auto put = [&](const Scalar& value) {
    row(by_chain ? next * workers + chain(worker, time, workers) : next) = scale * value;
    ++next;
  };
  // By chain the roots need no turning: what is left of T and S is one worker's code of c / N chunks.
  const auto blocks = by_chain ? node_blocks<Scalar>(1, copies) : node_blocks<Scalar>(workers, chunks);
  for (const NodeBlock<Scalar>& block : blocks) {
    const std::int64_t turns = by_chain ? 0 : wrap(-block.root * (time - worker), workers);
    if (block.pair) {
      const Scalar phase = by_chain ? boost::math::constants::quarter_pi<Scalar>() : Scalar(0);
      const Scalar drift = eps * block.offset * Scalar(time) / Scalar(workers);
      const auto [c, s] = cos_sin<Scalar>(turns, workers, Scalar(phase + drift));
      put(sqrt(Scalar(2)) * c);
      put(sqrt(Scalar(2)) * s);
    } else {
      put(turns == 0 ? Scalar(1) : Scalar(-1));
    }
  }
  return row;
}

/// T^worker of the cyclic node code (docs/theory.md, eq. 16): orthogonal, T^N = I, cyclic_row(.., worker, t) =
/// cyclic_row(.., 0, t) T^worker. Where N divides c it permutes the chains, otherwise it turns the pairs of chunks.
/// @return c x c, at most two entries a row
template <class Scalar>
[[nodiscard]] Eigen::SparseMatrix<Scalar> cyclic_turn(std::int64_t workers, std::int64_t chunks, std::int64_t worker) {
  std::vector<Eigen::Triplet<Scalar>> entries;
  if (chunks % workers == 0) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      entries.emplace_back(chunk, chunk - chunk % workers + wrap(chunk % workers - worker, workers), Scalar(1));
    }
  } else {
    Eigen::Index next = 0;
    for (const NodeBlock<Scalar>& block : node_blocks<Scalar>(workers, chunks)) {
      const auto [c, s] = cos_sin<Scalar>(wrap(block.root * worker, workers), workers, Scalar(0));
      entries.emplace_back(next, next, c);
      if (block.pair) {
        entries.emplace_back(next, next + 1, s);
        entries.emplace_back(next + 1, next, -s);
        entries.emplace_back(next + 1, next + 1, c);
      }
      next += block.pair ? 2 : 1;
    }
  }
  Eigen::SparseMatrix<Scalar> turn(chunks, chunks);
  turn.setFromTriplets(entries.begin(), entries.end());
  return turn;
}

/// (exp(eps H) - I) / eps of the cyclic node code, H itself if eps = 0: b S^{t+N} = b S^t exp(eps H), so that a
/// residue's rows are powers of a D = I + eps H' as in a multiplicative perturbation (docs/theory.md, "The cyclic
/// code's levels"). In the basis of `cyclic_row`.
/// @return c x c
template <class Scalar>
[[nodiscard]] Matrix<Scalar> cyclic_direction(std::int64_t workers, std::int64_t chunks, const Scalar& eps) {
  using std::sin;
  const bool by_chain = chunks % workers == 0;
  const std::int64_t chains = by_chain ? workers : 1;
  const auto blocks = by_chain ? node_blocks<Scalar>(1, chunks / workers) : node_blocks<Scalar>(workers, chunks);
  Matrix<Scalar> direction = Matrix<Scalar>::Zero(chunks, chunks);
  std::int64_t next = 0;
  for (const NodeBlock<Scalar>& block : blocks) {
    if (block.pair) {
      // A turn by theta = eps x, as sin and cos - 1 = -2 sin^2(theta / 2): the difference itself would cancel.
      const Scalar theta = eps * block.offset;
      const Scalar half = sin(Scalar(theta / Scalar(2)));
      const Scalar slope = eps == Scalar(0) ? block.offset : Scalar(sin(theta) / eps);
      const Scalar bend = eps == Scalar(0) ? Scalar(0) : Scalar(Scalar(-2) * half * half / eps);
      for (std::int64_t m = 0; m < chains; ++m) {
        const std::int64_t c = next * chains + m;
        const std::int64_t s = (next + 1) * chains + m;
        direction(c, c) = direction(s, s) = bend;
        direction(c, s) = slope;
        direction(s, c) = -slope;
      }
    }
    next += block.pair ? 2 : 1;
  }
  return direction;
}

/// The cyclic node code (docs/theory.md, eq. 16): U_w = U_0 T^w with T^N = I, so there is no seam between workers that
/// have wrapped round the ring and workers that have not.
/// @param eps     how far apart the copies of a root are
/// @param rounds  which rows, e.g. 1 .. L
/// @return U_0 .. U_{N-1}, each rounds.size() x c
template <class Scalar>
[[nodiscard]] Matrices<Scalar> cyclic_encoders(const RingShape& shape, const Scalar& eps,
                                               const std::vector<std::int64_t>& rounds) {
  validate(shape);
  Matrices<Scalar> encoders;
  for (std::int64_t worker = 0; worker < shape.workers; ++worker) {
    Matrix<Scalar> encoder(static_cast<Eigen::Index>(rounds.size()), shape.chunks);
    for (std::size_t row = 0; row < rounds.size(); ++row) {
      encoder.row(static_cast<Eigen::Index>(row)) =
          cyclic_row<Scalar>(shape.workers, shape.chunks, eps, worker, rounds[row]).transpose();
    }
    encoders.push_back(std::move(encoder));
  }
  return encoders;
}

/// The same for rounds 1 .. L: what is sent.
template <class Scalar>
[[nodiscard]] Matrices<Scalar> cyclic_encoders(const RingShape& shape, const Scalar& eps) {
  return cyclic_encoders<Scalar>(shape, eps, all_rounds(shape));
}

}  // namespace cerar
