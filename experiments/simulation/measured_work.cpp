#include "experiments/simulation/measured_work.h"

#include <cstddef>

namespace cerar {

namespace {

SimulatedWork work_of(const bench::BenchRow& row) {
  SimulatedWork work;
  const auto values = static_cast<double>(row.count);
  const double sent = static_cast<double>(row.wire_bytes) / 4;
  for (const bench::RankProfile& rank : row.profile) {
    const double share = 1e-6 / static_cast<double>(row.profile.size());
    work.begin_per_value += share * (rank[Phase::check] + rank[Phase::encode]) / values;
    work.round_per_value +=
        share * (rank[Phase::send] + rank[Phase::receive] + rank[Phase::prepare] + rank[Phase::update]) / sent;
    work.finish_per_value += share * rank[Phase::decode] / values;
  }
  return work;
}

}  // namespace

const WorkByAlgorithm& usual_work() {
  static const WorkByAlgorithm work = {
      {"exact", {0.3e-9, 1.4e-9, 0, 0}},
      {"naive", {0.3e-9, 1.4e-9, 0, 0}},
      {"coded", {1.5e-9, 3.1e-9, 1.1e-9, 0}},
      {"piggyback", {0.3e-9, 2.5e-9, 0, 0}},
  };
  return work;
}

WorkByAlgorithm work_of(const bench::BenchReport& report) {
  std::map<std::string, const bench::BenchRow*> largest;
  for (const bench::BenchRow& row : report.rows) {
    const bench::BenchRow*& kept = largest[row.algorithm];
    if (!row.profile.empty() && row.count > 0 && (kept == nullptr || row.count > kept->count)) {
      kept = &row;
    }
  }
  WorkByAlgorithm work;
  for (const auto& [algorithm, row] : largest) {
    if (row != nullptr) {
      work.emplace(algorithm, work_of(*row));
    }
  }
  return work;
}

}  // namespace cerar
