#pragma once

#include <stdexcept>
#include <string>

namespace cerar {

/// Base of everything CERAR throws on purpose. Its text is one or two sentences a user can act on: what was wrong,
/// where (file, field, rank, peer, round), what was expected, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}
};

/// A file that is missing, unreadable, damaged or of another shape than expected; the text names the file and the
/// field.
class FileError : public Error {
 public:
  using Error::Error;
};

}  // namespace cerar
