#include "optimize/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace cerar {
namespace {

class Search {
 public:
  Search(const std::function<double(const std::vector<double>&)>& objective, const std::vector<LogRange>& box)
      : objective_(objective), box_(box) {
    result_.value = std::numeric_limits<double>::infinity();
  }

  /// Takes the point if it is better than the best so far. Coordinates are logarithms.
  bool try_point(std::vector<double> logs) {
    std::vector<double> point(logs.size());
    for (std::size_t k = 0; k < logs.size(); ++k) {
      logs[k] = std::clamp(logs[k], std::log(box_[k].low), std::log(box_[k].high));
      point[k] = std::exp(logs[k]);
    }
    ++result_.evaluations;
    const double value = objective_(point);
    if (!(value < result_.value)) {
      return false;
    }
    result_.value = value;
    result_.point = std::move(point);
    best_ = std::move(logs);
    return true;
  }

  void grid() {
    std::vector<int> index(box_.size(), 0);
    for (bool more = true; more;) {
      std::vector<double> logs(box_.size());
      for (std::size_t k = 0; k < box_.size(); ++k) {
        logs[k] = std::log(box_[k].low) + spacing(k) * index[k];
      }
      try_point(std::move(logs));
      more = false;
      for (std::size_t k = 0; k < box_.size() && !more; ++k) {
        more = ++index[k] < box_[k].points;
        index[k] = more ? index[k] : 0;
      }
    }
  }

  void refine(double resolution) {
    for (double fraction = 0.5;; fraction /= 2) {
      double largest = 0;
      bool moved = true;
      while (moved && !best_.empty()) {
        moved = false;
        for (std::size_t k = 0; k < box_.size(); ++k) {
          const double step = fraction * spacing(k);
          largest = std::max(largest, step);
          for (const double signed_step : {step, -step}) {
            std::vector<double> logs = best_;
            logs[k] += signed_step;
            moved = try_point(std::move(logs)) || moved;
          }
        }
      }
      if (largest < resolution) {
        return;
      }
    }
  }

  void sample(int neighbours, double radius) {
    std::mt19937_64 engine(1);
    const std::vector<double> centre = best_;
    for (int k = 0; k < neighbours && !centre.empty(); ++k) {
      std::vector<double> logs = centre;
      for (double& log : logs) {
        log += radius * (2 * static_cast<double>(engine() >> 11U) * 0x1p-53 - 1);
      }
      try_point(std::move(logs));
    }
  }

  [[nodiscard]] SearchResult result() && { return std::move(result_); }

 private:
  [[nodiscard]] double spacing(std::size_t k) const {
    return (std::log(box_[k].high) - std::log(box_[k].low)) / (box_[k].points - 1);
  }

  const std::function<double(const std::vector<double>&)>& objective_;
  const std::vector<LogRange>& box_;
  std::vector<double> best_;
  SearchResult result_;
};

}  // namespace

SearchResult log_search(const std::function<double(const std::vector<double>&)>& objective,
                        const std::vector<LogRange>& box, double resolution, int neighbours) {
  Search search(objective, box);
  search.grid();
  search.refine(resolution);
  search.sample(neighbours, 10 * resolution);
  return std::move(search).result();
}

}  // namespace cerar
