#include "experiments/bench/report_file.h"

#include "coding/error.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <fstream>
#include <stdexcept>

namespace cerar::bench {

namespace {

using Json = nlohmann::json;

RankProfile profile_of(const Json& json) {
  RankProfile profile;
  profile.unprofiled_us = json.at("unprofiled_us");
  profile.profiled_us = json.at("profiled_us");
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    profile.phase_us[phase] = json.at(fmt::format("{}_us", name(static_cast<Phase>(phase))));
  }
  return profile;
}

BenchRow row_of(const Json& json) {
  BenchRow row;
  row.algorithm = json.at("algorithm");
  row.workers = json.at("workers");
  row.count = json.at("count");
  row.size_bytes = json.at("size_bytes");
  row.time_us = json.at("time_us");
  row.wire_bytes = json.at("wire_bytes");
  if (json.contains("profile")) {
    for (const Json& rank : json["profile"]) {
      row.profile.push_back(profile_of(rank));
    }
  }
  return row;
}

}  // namespace

std::int64_t BenchReport::chunks_of(const BenchRow& row) const {
  switch (algorithm_from_name(row.algorithm)) {
    case Algorithm::naive:
    case Algorithm::doubling:
      return 1;
    case Algorithm::exact:
      return row.workers;
    case Algorithm::coded:
    case Algorithm::piggyback:
      break;
  }
  return chunks;
}

std::int64_t BenchReport::rounds(const BenchRow& row) const {
  const std::int64_t n = row.workers;
  switch (algorithm_from_name(row.algorithm)) {
    case Algorithm::naive:
      return n - 1;
    case Algorithm::doubling: {
      const auto size = static_cast<std::uint64_t>(n);
      return static_cast<std::int64_t>(std::bit_width(size)) - 1 + (std::has_single_bit(size) ? 0 : 2);
    }
    case Algorithm::exact:
    case Algorithm::coded:
    case Algorithm::piggyback:
      break;
  }
  return chunks_of(row) + n - 2;
}

BenchReport read_report(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) {
    throw FileError(fmt::format("{} cannot be read; it should be what 'cerar bench --json' wrote", file.string()));
  }
  try {
    const Json document = Json::parse(in);
    BenchReport report;
    report.workers = document.at("workers");
    if (document.contains("code")) {
      report.chunks = document["code"].at("chunks");
    }
    for (const Json& row : document.at("rows")) {
      report.rows.push_back(row_of(row));
    }
    return report;
  } catch (const Json::exception& error) {
    throw FileError(fmt::format("{} is not what 'cerar bench --json' writes: {}", file.string(), error.what()));
  }
}

}  // namespace cerar::bench
