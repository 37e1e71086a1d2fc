#include "coding/overlapped.h"
#include "coding/reference.h"
#include "coding/simulation.h"
#include "optimize/fit.h"
#include "tests/coding/support.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <vector>

namespace cerar {
namespace {

enum class Removal {
  separate,    ///< as the protocol says: the stored encoding is subtracted, then the new one added
  recomputed,  ///< the returning encoding is made again, in descending order of the chunks
  fused,       ///< one encoding of u_{i,t+1} - u_{i,t-N+1} is added
};

Vector<float> encode_descending(const Matrix<float>& gradient, const Vector<float>& coefficients) {
  return encode<float>(gradient.rowwise().reverse(), coefficients.reverse());
}

/// The protocol again, with the removal to choose; o is kept as the receiver would have it.
Matrices<float> run(const Code& code, const Matrices<float>& gradients, Removal removal) {
  const auto workers = static_cast<std::size_t>(code.shape.workers);
  const std::int64_t rounds = code.shape.rounds();
  const auto row = [&](std::size_t i, std::int64_t t) -> Vector<float> {
    return code.encoders[i].row(t - 1).transpose().cast<float>();
  };
  Matrices<float> kept(workers, Matrix<float>(gradients[0].rows(), rounds));
  std::vector<Vector<float>> sent(workers);
  for (std::size_t i = 0; i < workers; ++i) {
    sent[i] = encode<float>(gradients[i], row(i, 1));
  }
  for (std::int64_t t = 1; t <= rounds; ++t) {
    std::vector<Vector<float>> next(workers);
    for (std::size_t i = 0; i < workers; ++i) {
      const Vector<float>& received = sent[(i + workers - 1) % workers];
      const bool returns = t >= code.shape.workers;
      Vector<float> others = received;
      if (returns) {
        const Vector<float> old = row(i, t - code.shape.workers + 1);
        others -=
            removal == Removal::recomputed ? encode_descending(gradients[i], old) : encode<float>(gradients[i], old);
      }
      kept[i].col(t - 1) = others;
      if (t == rounds) {
        continue;
      }
      if (removal == Removal::fused && returns) {
        const Vector<float> change = row(i, t + 1) - row(i, t - code.shape.workers + 1);
        next[i] = received + encode<float>(gradients[i], change);
      } else {
        next[i] = others + encode<float>(gradients[i], row(i, t + 1));
      }
    }
    sent = next;
  }
  Matrices<float> results = gradients;
  for (std::size_t i = 0; i < workers; ++i) {
    const Matrix<float> decoder = code.decoders[i].cast<float>();
    for (Eigen::Index chunk = 0; chunk < code.shape.chunks; ++chunk) {
      results[i].col(chunk) += encode<float>(kept[i].rightCols(code.kept()), Vector<float>(decoder.col(chunk)));
    }
  }
  return results;
}

TEST_CASE("removal subtracts the very bits that were added: alone on the ring, a gradient leaves exact zeros") {
  for (const std::string name : {"overlapped_4_12_closed_form", "overlapped_8_24_polished", "cyclic_4_12"}) {
    CAPTURE(name);
    const Code code = test::read_reference_code(name).code;
    const RingShape shape = code.shape;
    Matrices<float> gradients = random_gradients<float>(shape, 200, 0, 5);
    for (std::size_t i = 1; i < gradients.size(); ++i) {
      gradients[i].setZero();
    }
    std::int64_t zeros = 0;
    reference_rounds<float>(code, gradients, [&](const Round<float>& round) {
      if (round.number >= shape.workers) {
        CHECK(round.of_others[0].isZero(0));
        ++zeros;
      }
    });
    CHECK(zeros == shape.chunks - 1);
    CHECK(reference_all_reduce<float>(code, gradients)[0] == gradients[0]);

    // The same check must catch a removal that is recomputed in another order.
    const Vector<float> u = code.encoders[0].row(0).transpose().cast<float>();
    CHECK_FALSE((encode<float>(gradients[0], u) - encode_descending(gradients[0], u)).isZero(0));
  }
}

TEST_CASE("a fused removal ruins the overlapped code; the reference is the separate one") {
  FitProblem problem;
  problem.shape = {4, 12};
  for (const Code& code : {fit(problem).code, test::read_reference_code("overlapped_4_12_closed_form").code}) {
    const Matrices<float> gradients = random_gradients<float>(code.shape, 1000, 0, 9);
    const Matrices<float> reference = reference_all_reduce<float>(code, gradients);
    const Matrices<float> separate = run(code, gradients, Removal::separate);
    for (std::size_t i = 0; i < reference.size(); ++i) {
      CHECK(reference[i] == separate[i]);
    }
    const double right = measured_error(gradients, reference).relative;
    const double fused = measured_error(gradients, run(code, gradients, Removal::fused)).relative;
    const double recomputed = measured_error(gradients, run(code, gradients, Removal::recomputed)).relative;
    INFO(fmt::format("separate {:.3g}, recomputed {:.3g}, fused {:.3g}", right, recomputed, fused));
    MESSAGE(fmt::format("separate {:.3g}, recomputed {:.3g}, fused {:.3g}", right, recomputed, fused));
    CHECK(right < 2.5e-4);
    CHECK(fused > 10 * right);
  }
}

}  // namespace
}  // namespace cerar
