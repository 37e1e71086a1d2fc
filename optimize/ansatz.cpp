#include "optimize/ansatz.h"

#include "coding/ring.h"

#include <numeric>
#include <utility>

namespace cerar {
namespace {

/// An entry of some U_w that may change.
struct Entry {
  Eigen::Index row;
  Eigen::Index chunk;
};

/// The entries of U_worker that an ansatz frees. `rounds` + 1 rows: the last one is round 0.
std::vector<Entry> free_entries(const Eigen::MatrixXd& encoder, std::int64_t workers, std::int64_t worker) {
  const std::int64_t chunks = encoder.cols();
  const std::int64_t rounds = chunks + workers - 2;
  std::vector<Entry> entries;
  for (Eigen::Index chunk = 0; chunk < chunks; ++chunk) {
    for (Eigen::Index row = 0; row < encoder.rows(); ++row) {
      const std::int64_t round = row < rounds ? row + 1 : 0;
      if (chunks % workers != 0 || chunk % workers == chain(worker, round, workers)) {
        entries.push_back({row, chunk});
      }
    }
  }
  return entries;
}

/// One block a chunk, since H = curvature (x) I_c: chunks whose rows are the same share its factor.
void add_blocks(const std::vector<Entry>& entries, Eigen::Index first, const Eigen::MatrixXd& curvature,
                Preconditioner& preconditioner) {
  for (std::size_t begin = 0; begin < entries.size();) {
    std::size_t end = begin;
    std::vector<Eigen::Index> rows;
    std::vector<Eigen::Index> places;
    for (; end < entries.size() && entries[end].chunk == entries[begin].chunk; ++end) {
      rows.push_back(entries[end].row);
      places.push_back(first + static_cast<Eigen::Index>(end));
    }
    preconditioner.add_block(std::move(places), curvature(rows, rows));
    begin = end;
  }
}

class TurnedAnsatz final : public Ansatz {
 public:
  TurnedAnsatz(const Matrices<double>& encoders, std::vector<Eigen::SparseMatrix<double>> turns)
      : turns_(std::move(turns)),
        base_(encoders.front()),
        entries_(free_entries(base_, static_cast<std::int64_t>(turns_.size()), 0)) {
    start_ = take(base_);
  }

  [[nodiscard]] Matrices<double> encoders(const Eigen::VectorXd& x) const override {
    Eigen::MatrixXd first = base_;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      first(entries_[k].row, entries_[k].chunk) = x(static_cast<Eigen::Index>(k));
    }
    Matrices<double> result;
    for (const auto& turn : turns_) {
      result.emplace_back(first * turn);
    }
    return result;
  }

  [[nodiscard]] Eigen::VectorXd pull_back(const Eigen::VectorXd&, const Matrices<double>& gradient) const override {
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(base_.rows(), base_.cols());
    for (std::size_t w = 0; w < turns_.size(); ++w) {
      sum += gradient[w] * turns_[w].transpose();
    }
    return take(sum);
  }

  [[nodiscard]] Preconditioner preconditioner(const Eigen::VectorXd&,
                                              const Matrices<double>& curvature) const override {
    Eigen::MatrixXd sum = curvature.front();
    for (std::size_t w = 1; w < curvature.size(); ++w) {
      sum += curvature[w];
    }
    Preconditioner result;
    add_blocks(entries_, 0, sum, result);
    return result;
  }

 private:
  [[nodiscard]] Eigen::VectorXd take(const Eigen::MatrixXd& matrix) const {
    Eigen::VectorXd x(static_cast<Eigen::Index>(entries_.size()));
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      x(static_cast<Eigen::Index>(k)) = matrix(entries_[k].row, entries_[k].chunk);
    }
    return x;
  }

  std::vector<Eigen::SparseMatrix<double>> turns_;
  Eigen::MatrixXd base_;
  std::vector<Entry> entries_;
};

class FreeAnsatz final : public Ansatz {
 public:
  explicit FreeAnsatz(Matrices<double> encoders) : base_(std::move(encoders)) {
    const auto workers = static_cast<std::int64_t>(base_.size());
    for (std::int64_t w = 0; w < workers; ++w) {
      entries_.push_back(free_entries(base_[static_cast<std::size_t>(w)], workers, w));
    }
    start_ = take(base_);
  }

  [[nodiscard]] Matrices<double> encoders(const Eigen::VectorXd& x) const override {
    Matrices<double> result = base_;
    Eigen::Index next = 0;
    for (std::size_t w = 0; w < entries_.size(); ++w) {
      for (const Entry& entry : entries_[w]) {
        result[w](entry.row, entry.chunk) = x(next++);
      }
    }
    return result;
  }

  [[nodiscard]] Eigen::VectorXd pull_back(const Eigen::VectorXd&, const Matrices<double>& gradient) const override {
    return take(gradient);
  }

  [[nodiscard]] Preconditioner preconditioner(const Eigen::VectorXd&,
                                              const Matrices<double>& curvature) const override {
    Preconditioner result;
    Eigen::Index first = 0;
    for (std::size_t w = 0; w < entries_.size(); ++w) {
      add_blocks(entries_[w], first, curvature[w], result);
      first += static_cast<Eigen::Index>(entries_[w].size());
    }
    return result;
  }

 private:
  [[nodiscard]] Eigen::VectorXd take(const Matrices<double>& matrices) const {
    std::size_t count = 0;
    for (const auto& entries : entries_) {
      count += entries.size();
    }
    Eigen::VectorXd x(static_cast<Eigen::Index>(count));
    Eigen::Index next = 0;
    for (std::size_t w = 0; w < entries_.size(); ++w) {
      for (const Entry& entry : entries_[w]) {
        x(next++) = matrices[w](entry.row, entry.chunk);
      }
    }
    return x;
  }

  Matrices<double> base_;
  std::vector<std::vector<Entry>> entries_;  ///< by worker
};

/// Row m of the stack is b_{m mod N} D^{floor(m / N)}, and u_{i,t} is row t - i + N.
class PerturbationAnsatz final : public Ansatz {
 public:
  PerturbationAnsatz(const Perturbation<double>& perturbation, std::vector<std::int64_t> rounds)
      : rounds_(std::move(rounds)), shape_{perturbation.base.rows(), perturbation.base.cols()} {
    const Eigen::MatrixXd& base = perturbation.base;
    const Eigen::MatrixXd& step = perturbation.direction;
    const std::int64_t workers = shape_.workers;
    const auto same_chain = [&](Eigen::Index a, Eigen::Index b) { return a % workers == b % workers; };
    const auto ties_chains = [&](const Eigen::MatrixXd& matrix) {
      for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
        for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
          if (matrix(row, column) != 0 && !same_chain(row, column)) {
            return true;
          }
        }
      }
      return false;
    };
    const bool by_chain = shape_.chunks % workers == 0 && !ties_chains(base) && !ties_chains(step);
    const bool diagonal = step.isDiagonal(0);
    for (Eigen::Index column = 0; column < shape_.chunks; ++column) {
      for (Eigen::Index row = 0; row < workers; ++row) {
        if (!by_chain || same_chain(row, column)) {
          base_.push_back({row, column});
        }
      }
    }
    for (Eigen::Index column = 0; column < shape_.chunks; ++column) {
      for (Eigen::Index row = 0; row < shape_.chunks; ++row) {
        if (diagonal ? row == column : !by_chain || same_chain(row, column)) {
          step_.push_back({row, column});
        }
      }
    }
    start_.resize(static_cast<Eigen::Index>(base_.size() + step_.size()));
    Eigen::Index next = 0;
    for (const Entry& entry : base_) {
      start_(next++) = base(entry.row, entry.chunk);
    }
    for (const Entry& entry : step_) {
      start_(next++) = step(entry.row, entry.chunk);
    }
  }

  [[nodiscard]] Matrices<double> encoders(const Eigen::VectorXd& x) const override {
    const Perturbation<double> at = unpack(x);
    return perturbation_encoders<double>(shape_, at, 1.0, rounds_);
  }

  [[nodiscard]] Eigen::VectorXd pull_back(const Eigen::VectorXd& x, const Matrices<double>& gradient) const override {
    const Perturbation<double> at = unpack(x);
    const Matrices<double> blocks = powers(at);
    Matrices<double> by_block(blocks.size(), Eigen::MatrixXd::Zero(shape_.workers, shape_.chunks));
    for (std::size_t w = 0; w < gradient.size(); ++w) {
      for (std::size_t k = 0; k < rounds_.size(); ++k) {
        const std::int64_t row = stack_row(w, k);
        by_block[static_cast<std::size_t>(row / shape_.workers)].row(row % shape_.workers) +=
            gradient[w].row(static_cast<Eigen::Index>(k));
      }
    }
    // P_j = P_{j-1} + P_{j-1} E, backwards.
    Eigen::MatrixXd by_step = Eigen::MatrixXd::Zero(shape_.chunks, shape_.chunks);
    for (std::size_t j = blocks.size() - 1; j > 0; --j) {
      by_step += blocks[j - 1].transpose() * by_block[j];
      by_block[j - 1] += by_block[j] + by_block[j] * at.direction.transpose();
    }
    Eigen::VectorXd result(start_.size());
    Eigen::Index next = 0;
    for (const Entry& entry : base_) {
      result(next++) = by_block.front()(entry.row, entry.chunk);
    }
    for (const Entry& entry : step_) {
      result(next++) = by_step(entry.row, entry.chunk);
    }
    return result;
  }

  // H = J^T (curvature (x) I) J, with J found one free number after the other.
  [[nodiscard]] Preconditioner preconditioner(const Eigen::VectorXd& x,
                                              const Matrices<double>& curvature) const override {
    const Perturbation<double> at = unpack(x);
    const Matrices<double> blocks = powers(at);
    const auto rows = static_cast<Eigen::Index>(rounds_.size());
    const Eigen::Index size = rows * shape_.chunks * shape_.workers;
    Eigen::MatrixXd jacobian(size, x.size());
    Eigen::MatrixXd bent(size, x.size());  // (curvature (x) I) J
    for (Eigen::Index k = 0; k < x.size(); ++k) {
      const Matrices<double> change = derivative(at, blocks, k);
      for (std::size_t w = 0; w < curvature.size(); ++w) {
        Eigen::MatrixXd u(rows, shape_.chunks);
        for (std::size_t r = 0; r < rounds_.size(); ++r) {
          const std::int64_t row = stack_row(w, r);
          u.row(static_cast<Eigen::Index>(r)) =
              change[static_cast<std::size_t>(row / shape_.workers)].row(row % shape_.workers);
        }
        const Eigen::MatrixXd weighted = curvature[w] * u;
        const Eigen::Index first = static_cast<Eigen::Index>(w) * rows * shape_.chunks;
        jacobian.col(k).segment(first, rows * shape_.chunks) = u.reshaped();
        bent.col(k).segment(first, rows * shape_.chunks) = weighted.reshaped();
      }
    }
    std::vector<Eigen::Index> all(static_cast<std::size_t>(x.size()));
    std::iota(all.begin(), all.end(), Eigen::Index{0});
    Preconditioner result;
    result.add_block(std::move(all), jacobian.transpose() * bent);
    return result;
  }

 private:
  [[nodiscard]] std::int64_t stack_row(std::size_t worker, std::size_t row) const {
    return rounds_[row] - static_cast<std::int64_t>(worker) + shape_.workers;
  }

  /// B D^0, B D^1, .. as far as the stack is used.
  [[nodiscard]] Matrices<double> powers(const Perturbation<double>& at) const {
    const std::int64_t rows = shape_.rounds() + shape_.workers + 1;
    Matrices<double> blocks = {at.base};
    while (static_cast<std::int64_t>(blocks.size()) * shape_.workers < rows) {
      blocks.emplace_back(blocks.back() + blocks.back() * at.direction);
    }
    return blocks;
  }

  /// How the powers change with the k-th free number.
  [[nodiscard]] Matrices<double> derivative(const Perturbation<double>& at, const Matrices<double>& blocks,
                                            Eigen::Index k) const {
    Matrices<double> change(blocks.size(), Eigen::MatrixXd::Zero(shape_.workers, shape_.chunks));
    const auto in_base = static_cast<Eigen::Index>(base_.size());
    const Entry entry = k < in_base ? base_[static_cast<std::size_t>(k)] : step_[static_cast<std::size_t>(k - in_base)];
    if (k < in_base) {
      change.front()(entry.row, entry.chunk) = 1;
    }
    for (std::size_t j = 1; j < blocks.size(); ++j) {
      change[j] = change[j - 1] + change[j - 1] * at.direction;
      if (k >= in_base) {
        change[j].col(entry.chunk) += blocks[j - 1].col(entry.row);
      }
    }
    return change;
  }

  [[nodiscard]] Perturbation<double> unpack(const Eigen::VectorXd& x) const {
    Perturbation<double> at{Eigen::MatrixXd::Zero(shape_.workers, shape_.chunks),
                            Eigen::MatrixXd::Zero(shape_.chunks, shape_.chunks)};
    Eigen::Index next = 0;
    for (const Entry& entry : base_) {
      at.base(entry.row, entry.chunk) = x(next++);
    }
    for (const Entry& entry : step_) {
      at.direction(entry.row, entry.chunk) = x(next++);
    }
    return at;
  }

  std::vector<std::int64_t> rounds_;
  RingShape shape_;
  std::vector<Entry> base_;  ///< free entries of B
  std::vector<Entry> step_;  ///< free entries of E; Entry::chunk is the column
};

}  // namespace

void Preconditioner::add_block(std::vector<Eigen::Index> entries, const Eigen::MatrixXd& curvature) {
  const Block* last = blocks_.empty() ? nullptr : &blocks_.back();
  if (last != nullptr && last->curvature.rows() == curvature.rows() && last->curvature == curvature) {
    blocks_.push_back({std::move(entries), curvature, last->cholesky});
    return;
  }
  // Directions that hardly matter must not be stretched without bound.
  const double floor = 1e-13 * curvature.trace() / static_cast<double>(curvature.rows());
  const Eigen::MatrixXd safe = curvature + floor * Eigen::MatrixXd::Identity(curvature.rows(), curvature.cols());
  blocks_.push_back({std::move(entries), curvature, std::make_shared<const Eigen::LLT<Eigen::MatrixXd>>(safe)});
}

Eigen::VectorXd Preconditioner::step(const Eigen::VectorXd& y) const {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(y.size());
  for (const Block& block : blocks_) {
    const Eigen::VectorXd part = y(block.entries);
    const Eigen::VectorXd solved = block.cholesky->matrixU().solve(part);
    x(block.entries) = solved;
  }
  return x;
}

Eigen::VectorXd Preconditioner::pull_back(const Eigen::VectorXd& gradient) const {
  Eigen::VectorXd by_y = Eigen::VectorXd::Zero(gradient.size());
  for (const Block& block : blocks_) {
    const Eigen::VectorXd part = gradient(block.entries);
    const Eigen::VectorXd solved = block.cholesky->matrixL().solve(part);
    by_y(block.entries) = solved;
  }
  return by_y;
}

std::unique_ptr<Ansatz> make_turned_ansatz(const Matrices<double>& encoders,
                                           std::vector<Eigen::SparseMatrix<double>> turns) {
  return std::make_unique<TurnedAnsatz>(encoders, std::move(turns));
}

std::unique_ptr<Ansatz> make_free_ansatz(const Matrices<double>& encoders) {
  return std::make_unique<FreeAnsatz>(encoders);
}

std::unique_ptr<Ansatz> make_perturbation_ansatz(const Perturbation<double>& perturbation,
                                                 const std::vector<std::int64_t>& rounds) {
  return std::make_unique<PerturbationAnsatz>(perturbation, rounds);
}

}  // namespace cerar
