#include "collective/kernels.h"

#include "tests/collective/ring_of_processes.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace cerar {

namespace {

const std::vector<std::size_t> kLengths = {0, 1, 3, 63, 64, 65, 1000};

// Written out without any vectorising in mind, volatile so that no compiler contracts or reorders it.
float plain_combination(const std::vector<Term>& terms, std::size_t x) {
  volatile float sum = 0;
  bool first = true;
  for (const Term& term : terms) {
    const volatile float product = term.coefficient * term.vector[x];
    sum = first ? product : sum + product;
    first = false;
  }
  return sum;
}

}  // namespace

TEST_CASE("combinations round term by term, to the bit") {
  for (const std::size_t n : kLengths) {
    for (const std::size_t count : {0U, 1U, 2U, 12U, 31U}) {
      std::vector<std::vector<float>> vectors;
      std::vector<Term> terms;
      for (std::size_t k = 0; k < count; ++k) {
        vectors.push_back(testing::gradient_of(static_cast<std::int64_t>(k), n, 7));
        terms.push_back({nullptr, 0.1F + 0.37F * static_cast<float>(k)});
      }
      for (std::size_t k = 0; k < count; ++k) {
        terms[k].vector = vectors[k].data();
      }
      const std::vector<float> own = testing::gradient_of(99, n, 7);
      std::vector<float> out(n, std::numeric_limits<float>::quiet_NaN());
      std::vector<float> onto = own;
      combine(terms, n, out.data());
      combine_onto(onto.data(), terms, n, onto.data());
      for (std::size_t x = 0; x < n; ++x) {
        CHECK(out[x] == plain_combination(terms, x));
        CHECK(onto[x] == own[x] + plain_combination(terms, x));
      }
    }
  }
}

TEST_CASE("what was added is removed exactly when nothing else was") {
  const std::vector<float> delta = testing::gradient_of(0, 1000, 3);
  std::vector<float> sum(1000, 0.0F);
  add(sum.data(), delta.data(), 1000, sum.data());
  subtract(sum.data(), delta.data(), 1000, sum.data());
  CHECK(sum == std::vector<float>(1000, 0.0F));
}

TEST_CASE("the first value that is not finite is found wherever it is") {
  for (const std::size_t n : kLengths) {
    std::vector<float> values(n, 1e38F);
    CHECK(first_nonfinite(values) == n);
    for (std::size_t x = 0; x < n; x += 13) {
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
        values[x] = bad;
        CHECK(first_nonfinite(values) == x);
        values[x] = 0;
      }
    }
  }
}

}  // namespace cerar
