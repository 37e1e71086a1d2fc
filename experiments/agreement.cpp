#include "experiments/agreement.h"

#include <fmt/core.h>

#include <cstring>

namespace cerar {

void require_agreement(Communicator& communicator, const std::vector<std::pair<std::string, double>>& settings) {
  // A double travels as the bits of two floats; all_gather promises to leave them alone.
  constexpr std::size_t floats_per_value = sizeof(double) / sizeof(float);
  std::vector<float> mine(settings.size() * floats_per_value);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    std::memcpy(&mine[i * floats_per_value], &settings[i].second, sizeof(double));
  }
  std::vector<float> all(mine.size() * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(mine, all);
  const auto value = [&](std::size_t rank, std::size_t setting) {
    double result = 0;
    std::memcpy(&result, &all[rank * mine.size() + setting * floats_per_value], sizeof(double));
    return result;
  };
  for (std::size_t rank = 1; rank < static_cast<std::size_t>(communicator.size()); ++rank) {
    for (std::size_t i = 0; i < settings.size(); ++i) {
      if (value(rank, i) != value(0, i)) {
        throw Error(fmt::format("rank {} has {} {} but rank 0 has {}; start every rank with the same options and data",
                                rank, settings[i].first, value(rank, i), value(0, i)));
      }
    }
  }
}

}  // namespace cerar
