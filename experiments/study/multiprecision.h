#pragma once

#include <boost/multiprecision/eigen.hpp>
#include <boost/multiprecision/mpfr.hpp>

namespace cerar {

/// A binary float whose precision is chosen at run time (MPFR). A number has the precision that the thread which made
/// it had at that moment: see PrecisionScope.
using Wide = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>, boost::multiprecision::et_off>;

/// While it lives, this thread makes numbers of `digits` decimal digits. Results of arithmetic keep the precision of
/// their operands, so numbers of different scopes are not to be mixed except to compare them.
class PrecisionScope {
 public:
  explicit PrecisionScope(int digits) : before_(Wide::thread_default_precision()) {
    Wide::thread_default_precision(static_cast<unsigned>(digits));
  }
  ~PrecisionScope() { Wide::thread_default_precision(before_); }
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  unsigned before_;
};

}  // namespace cerar
