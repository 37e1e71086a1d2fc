#pragma once

#include "coding/code.h"
#include "coding/matrix.h"

namespace cerar {

/// The protocol in the arithmetic of code.noise.wire (docs/theory.md, "Wires"), all N workers in one process:
///
/// - f32: float32 throughout, to the bit what a ring computes;
/// - f16, bf16: float32, each message rounded to the word when it is sent;
/// - i16, i32: encodings in double, quantised once to integers with one step for all, exact integer sums, decoding in
///   double. The result does not depend on the order of summation.
///
/// @param gradients  G_0 .. G_{N-1}, each p x c
/// @return ghat_0 .. ghat_{N-1}, each p x c
/// @throws std::invalid_argument if the wire is unknown, a shape does not fit, or an integer wire's gradients are not
/// finite
[[nodiscard]] Matrices<double> wire_all_reduce(const Code& code, const Matrices<float>& gradients);

}  // namespace cerar
