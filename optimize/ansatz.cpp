#include "optimize/ansatz.h"

#include "coding/ring.h"

#include <map>
#include <utility>

namespace cerar {
namespace {

/// An entry of some U_w that may change.
struct Entry {
  Eigen::Index row;
  Eigen::Index chunk;
};

/// The entries of U_worker that an ansatz frees. `rounds` + 1 rows: the last one is round 0.
std::vector<Entry> free_entries(const Eigen::MatrixXd& encoder, std::int64_t workers, std::int64_t worker,
                                Eigen::Index fixed) {
  const std::int64_t chunks = encoder.cols();
  const std::int64_t rounds = chunks + workers - 2;
  std::vector<Entry> entries;
  for (Eigen::Index chunk = 0; chunk < chunks; ++chunk) {
    for (Eigen::Index row = fixed; row < encoder.rows(); ++row) {
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
  TurnedAnsatz(const Matrices<double>& encoders, std::vector<Eigen::SparseMatrix<double>> turns, Eigen::Index fixed)
      : turns_(std::move(turns)),
        base_(encoders.front()),
        entries_(free_entries(base_, static_cast<std::int64_t>(turns_.size()), 0, fixed)) {
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

  [[nodiscard]] Preconditioner preconditioner(const Matrices<double>& curvature) const override {
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
  FreeAnsatz(Matrices<double> encoders, Eigen::Index fixed) : base_(std::move(encoders)) {
    const auto workers = static_cast<std::int64_t>(base_.size());
    for (std::int64_t w = 0; w < workers; ++w) {
      entries_.push_back(free_entries(base_[static_cast<std::size_t>(w)], workers, w, fixed));
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

  [[nodiscard]] Preconditioner preconditioner(const Matrices<double>& curvature) const override {
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

}  // namespace

void Preconditioner::add_block(std::vector<Eigen::Index> entries, const Eigen::MatrixXd& curvature) {
  const Block* last = blocks_.empty() ? nullptr : &blocks_.back();
  if (last != nullptr && last->curvature == curvature) {
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
                                           std::vector<Eigen::SparseMatrix<double>> turns, Eigen::Index fixed) {
  return std::make_unique<TurnedAnsatz>(encoders, std::move(turns), fixed);
}

std::unique_ptr<Ansatz> make_free_ansatz(const Matrices<double>& encoders, Eigen::Index fixed) {
  return std::make_unique<FreeAnsatz>(encoders, fixed);
}

}  // namespace cerar
