#include "experiments/study/short_protocol.h"

#include "coding/conditioning.h"
#include "coding/random.h"
#include "coding/received.h"
#include "optimize/parallel.h"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cerar {
namespace {

constexpr int iterations = 4000;
// Of the unit size of U and R: the error it costs, a few times its root, is far below those that are looked for.
constexpr double ridge = 1e-10;

/// argmin_X || A X - B ||^2 + ridge || X ||^2, by normal equations: the ridge keeps them well above rounding.
Eigen::MatrixXd ridge_solve(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  Eigen::MatrixXd normal = a.transpose() * a;
  normal.diagonal().array() += ridge;
  return normal.llt().solve(a.transpose() * b);
}

class AlternatingLeastSquares {
 public:
  AlternatingLeastSquares(const RingShape& shape, std::int64_t rounds, std::uint64_t seed)
      : shape_(shape), rounds_(rounds) {
    NormalGenerator normal(seed);
    for (std::int64_t w = 0; w < shape.workers; ++w) {
      encoders_.emplace_back(Eigen::MatrixXd::NullaryExpr(rounds, shape.chunks, [&] { return normal(); }));
    }
  }

  ShortProtocol run() {
    for (int i = 0; i < iterations; ++i) {
      solve_decoders();
      solve_encoders();
    }
    solve_decoders();
    ShortProtocol result{encoders_, 0, 0};
    double phi = 0;
    for (std::int64_t i = 0; i < shape_.workers; ++i) {
      const Eigen::MatrixXd received = received_matrix(encoders_, Decoder::own_exact, i, 1);
      phi +=
          (received * decoders_[static_cast<std::size_t>(i)] - decoding_target<double>(shape_, Decoder::own_exact, i))
              .squaredNorm();
      result.kappa = std::max(result.kappa, kappa2(received));
    }
    const auto n = static_cast<double>(shape_.workers);
    result.error = std::sqrt(phi / (n * n * static_cast<double>(shape_.chunks)));
    return result;
  }

 private:
  void solve_decoders() {
    decoders_.clear();
    for (std::int64_t i = 0; i < shape_.workers; ++i) {
      decoders_.push_back(ridge_solve(received_matrix(encoders_, Decoder::own_exact, i, 1),
                                      decoding_target<double>(shape_, Decoder::own_exact, i)));
    }
  }

  /// Worker w's block of M_i R_i is sum_t u_{w,t} (row t + h - 1 of R_i), h = i - w hops (eq. 2): one least-squares
  /// problem for U_w, over all i.
  void solve_encoders() {
    const std::int64_t c = shape_.chunks;
    for (std::int64_t w = 0; w < shape_.workers; ++w) {
      Eigen::MatrixXd rows = Eigen::MatrixXd::Zero((shape_.workers - 1) * c, rounds_);
      Eigen::MatrixXd target((shape_.workers - 1) * c, c);
      for (std::int64_t hops = 1; hops < shape_.workers; ++hops) {
        const auto& decoder = decoders_[static_cast<std::size_t>(wrap(w + hops, shape_.workers))];
        const std::int64_t heard = std::max<std::int64_t>(0, rounds_ - hops + 1);
        rows.block((hops - 1) * c, 0, c, heard) = decoder.bottomRows(heard).transpose();
        target.middleRows((hops - 1) * c, c).setIdentity();
      }
      Eigen::MatrixXd& encoder = encoders_[static_cast<std::size_t>(w)];
      encoder = ridge_solve(rows, target);
    }
    // Only the product of the sizes of U and R matters, and R is solved for next.
    double size = 0;
    for (const auto& encoder : encoders_) {
      size += encoder.squaredNorm();
    }
    const double scale = std::sqrt(static_cast<double>(shape_.workers * rounds_) / size);
    for (auto& encoder : encoders_) {
      encoder *= scale;
    }
  }

  RingShape shape_;
  std::int64_t rounds_;
  Matrices<double> encoders_;
  Matrices<double> decoders_;
};

}  // namespace

std::optional<ShortProtocol> optimise_short_protocol(const RingShape& shape, std::int64_t rounds, int starts,
                                                     std::uint64_t seed, const StudyHooks& hooks) {
  std::vector<ShortProtocol> found(static_cast<std::size_t>(starts));
  const auto task = [&](std::size_t start) {
    found[start] = AlternatingLeastSquares(shape, rounds, seed + start).run();
  };
  if (!run_parallel(found.size(), hooks.threads, task, hooks.stop)) {
    return std::nullopt;
  }
  return *std::min_element(found.begin(), found.end(),
                           [](const auto& one, const auto& other) { return one.error < other.error; });
}

}  // namespace cerar
