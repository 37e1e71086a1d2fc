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
float plain_combination(const LinearMap& map, std::size_t output, Vectors<const float> in, std::size_t x) {
  volatile float sum = 0;
  bool first = true;
  for (const LinearMap::Term& term : map.terms(output)) {
    const volatile float product = term.coefficient * in[term.input][x];
    sum = first ? product : sum + product;
    first = false;
  }
  return sum;
}

}  // namespace

TEST_CASE("linear maps round term by term, to the bit, whatever is sparse in them") {
  constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t n : kLengths) {
    for (const std::size_t inputs : {1U, 2U, 12U, 31U}) {
      CAPTURE(n);
      CAPTURE(inputs);
      constexpr std::size_t kOutputs = 9;
      const LinearMap map(kOutputs, inputs, [](std::size_t output, std::size_t input) {
        return output == 4 || (output + input) % 3 == 1
                   ? 0.0F
                   : 0.1F + 0.37F * static_cast<float>(input) - 1.1F * static_cast<float>(output);
      });
      CHECK(map.outputs() == kOutputs);
      CHECK(map.terms(4).empty());
      const std::size_t stride = n + 5;
      const std::vector<float> vectors = testing::gradient_of(0, inputs * stride, 7);
      const std::vector<float> own = testing::gradient_of(99, kOutputs * stride, 7);
      std::vector<float> out(kOutputs * stride, kPoison);
      std::vector<float> onto = own;
      const Vectors<const float> in{vectors.data(), stride};
      apply(map, in, n, {out.data(), stride});
      apply_onto(map, in, n, {onto.data(), stride});
      for (std::size_t output = 0; output < kOutputs; ++output) {
        for (std::size_t x = 0; x < stride; ++x) {
          const std::size_t place = output * stride + x;
          if (x >= n) {
            CHECK(std::isnan(out[place]));
            CHECK(onto[place] == own[place]);
            continue;
          }
          const float sum = plain_combination(map, output, in, x);
          CHECK(out[place] == sum);
          CHECK(onto[place] == (map.terms(output).empty() ? own[place] : own[place] + sum));
        }
      }
    }
  }
}

TEST_CASE("what arrives is freed of what comes back, kept and passed on, in every combination") {
  for (const std::size_t n : kLengths) {
    const std::vector<float> arrived = testing::gradient_of(1, n, 3);
    const std::vector<float> removed = testing::gradient_of(2, n, 3);
    const std::vector<float> added = testing::gradient_of(3, n, 3);
    for (const bool removes : {false, true}) {
      for (const bool keeps : {false, true}) {
        for (const bool sends : {false, true}) {
          std::vector<float> kept(n, -1.0F);
          std::vector<float> sent(n, -1.0F);
          forward(arrived.data(), removes ? removed.data() : nullptr, sends ? added.data() : nullptr, n,
                  keeps ? kept.data() : nullptr, sends ? sent.data() : nullptr);
          for (std::size_t x = 0; x < n; ++x) {
            const volatile float others = removes ? arrived[x] - removed[x] : arrived[x];
            CHECK(kept[x] == (keeps ? others : -1.0F));
            CHECK(sent[x] == (sends ? others + added[x] : -1.0F));
          }
        }
      }
    }
  }
}

TEST_CASE("what was added is removed exactly when nothing else was") {
  const std::vector<float> delta = testing::gradient_of(0, 1000, 3);
  const std::vector<float> nothing(1000, 0.0F);
  std::vector<float> sum(1000);
  std::vector<float> kept(1000, 1.0F);
  add(nothing.data(), delta.data(), 1000, sum.data());
  forward(sum.data(), delta.data(), nullptr, 1000, kept.data(), nullptr);
  CHECK(kept == nothing);
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
