#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cerar {

/// A matrix of coefficients, as lists of the terms that are not zero: output r is the sum of its coefficients times
/// the inputs, in the order of the inputs.
class LinearMap {
 public:
  /// @param coefficient  (output, input) -> float
  template <class Coefficient>
  LinearMap(std::size_t outputs, std::size_t inputs, const Coefficient& coefficient) {
    first_.push_back(0);
    for (std::size_t output = 0; output < outputs; ++output) {
      for (std::size_t input = 0; input < inputs; ++input) {
        if (const float value = coefficient(output, input); value != 0.0F) {
          terms_.push_back({input, value});
        }
      }
      first_.push_back(terms_.size());
    }
  }

  struct Term {
    std::size_t input = 0;
    float coefficient = 0;
  };
  [[nodiscard]] std::size_t outputs() const noexcept { return first_.size() - 1; }
  [[nodiscard]] std::span<const Term> terms(std::size_t output) const noexcept {
    return std::span(terms_).subspan(first_[output], first_[output + 1] - first_[output]);
  }
  [[nodiscard]] std::size_t terms() const noexcept { return terms_.size(); }
  [[nodiscard]] std::int64_t memory_bytes() const noexcept {
    return static_cast<std::int64_t>(terms_.size() * sizeof(Term) + first_.size() * sizeof(std::size_t));
  }

 private:
  std::vector<std::size_t> first_;  ///< of each output's terms
  std::vector<Term> terms_;
};

/// Values of a cache line.
inline constexpr std::size_t kLineValues = 16;

/// Vectors of one length in memory: vector k begins at data + k stride.
template <class Float>
struct Vectors {
  Float* data = nullptr;
  std::size_t stride = 0;

  [[nodiscard]] Float* operator[](std::size_t index) const noexcept { return data + index * stride; }
};

// Every kernel rounds each product and each sum to float, in the order of its terms and without contraction, so that it
// agrees to the bit with the sequential reference (coding/reference.h) on every processor.

/// out_r[x] = (...(a_0 v_0[x] + a_1 v_1[x]) + ...) over output r's terms, for x < n; 0 without terms. No output
/// overlaps an input.
void apply(const LinearMap& map, Vectors<const float> in, std::size_t n, Vectors<float> out);

/// The same for output `output` alone.
void apply_row(const LinearMap& map, std::size_t output, Vectors<const float> in, std::size_t n, float* out);

/// out_r[x] += the same sum.
void apply_onto(const LinearMap& map, Vectors<const float> in, std::size_t n, Vectors<float> out);

/// What a coded round does to an arrival: kept[x] = o = arrived[x] - removed[x], sent[x] = o + added[x].
/// @param removed  nullptr: nothing is
/// @param kept, sent  nullptr where not wanted; neither overlaps the others
/// @param added  not nullptr where `sent` is wanted
void forward(const float* arrived, const float* removed, const float* added, std::size_t n, float* kept, float* sent);

/// out[x] = a[x] + b[x]; `out` may be `a` or `b`.
void add(const float* a, const float* b, std::size_t n, float* out);

/// Values from `vector` on to the next multiple of a cache line. The kernels are fastest where that is the same for all
/// vectors of a call.
[[nodiscard]] std::size_t values_to_alignment(const float* vector) noexcept;

/// The index of the first value that is NaN or infinite, or values.size() if all are finite.
[[nodiscard]] std::size_t first_nonfinite(std::span<const float> values);

}  // namespace cerar
