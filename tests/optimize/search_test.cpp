#include "optimize/search.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace cerar {
namespace {

TEST_CASE("a tilted valley in two parameters is found to the resolution") {
  const auto objective = [](const std::vector<double>& p) {
    const double x = std::log(p[0] / 3e-4);
    const double y = std::log(p[1] / 0.02);
    return x * x + y * y + 0.8 * x * y;
  };
  const SearchResult found = log_search(objective, {{1e-6, 1, 10}, {1e-4, 3, 10}}, 0.001, 0);
  CHECK(found.point[0] == doctest::Approx(3e-4).epsilon(0.005));
  CHECK(found.point[1] == doctest::Approx(0.02).epsilon(0.005));
  CHECK(found.evaluations > 100);
}

TEST_CASE("the least value may lie on the box's edge, and points without a finite value lose") {
  const SearchResult edge = log_search([](const auto& p) { return p[0]; }, {{1e-3, 1, 4}}, 0.01, 10);
  CHECK(edge.point[0] == doctest::Approx(1e-3).epsilon(1e-12));
  const SearchResult hole =
      log_search([](const auto& p) { return p[0] < 0.1 ? std::numeric_limits<double>::quiet_NaN() : p[0]; },
                 {{1e-3, 1, 7}}, 1e-4, 10);
  CHECK(hole.point[0] == doctest::Approx(0.1).epsilon(1e-3));
  const SearchResult none =
      log_search([](const auto&) { return std::numeric_limits<double>::infinity(); }, {{1e-3, 1, 4}}, 0.01, 10);
  CHECK(none.point.empty());
  CHECK(std::isinf(none.value));
}

TEST_CASE("without parameters there is one evaluation") {
  const SearchResult found = log_search([](const auto& p) { return p.empty() ? 2.0 : 1.0; }, {}, 0.01, 0);
  CHECK(found.value == 2);
  CHECK(found.evaluations == 1);
}

}  // namespace
}  // namespace cerar
