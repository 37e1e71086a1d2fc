#include "experiments/idx_file.h"

#include "coding/error.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace cerar {
namespace {

/// More than any data set of this format has; a damaged length must not become an allocation of terabytes.
constexpr std::int64_t largest_array = std::int64_t{1} << 32;

class GzipReader {
 public:
  explicit GzipReader(const std::filesystem::path& path) : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (!file_) {
      throw FileError(fmt::format("{}: cannot be opened ({})", path_.string(), std::strerror(errno)));
    }
  }

  /// Reads up to `size` bytes; fewer only at the end of the file.
  std::int64_t read(std::uint8_t* to, std::int64_t size) {
    std::int64_t done = 0;
    while (done < size) {
      const auto ask = static_cast<unsigned>(std::min<std::int64_t>(size - done, 1 << 20));
      const int got = gzread(file_.get(), to + done, ask);
      int code = Z_OK;
      const char* text = gzerror(file_.get(), &code);
      // zlib reports a stream that stops in the middle as a short read with Z_BUF_ERROR.
      if (got < 0 || code == Z_BUF_ERROR) {
        throw FileError(fmt::format("{}: the gzip stream is damaged or cut short after {} bytes ({}); install it again",
                                    path_.string(), done, code == Z_BUF_ERROR ? "unexpected end" : text));
      }
      if (got == 0) {
        break;
      }
      done += got;
    }
    return done;
  }

 private:
  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

std::uint32_t big_endian(const std::uint8_t* bytes) noexcept {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
         static_cast<std::uint32_t>(bytes[2]) << 8 | static_cast<std::uint32_t>(bytes[3]);
}

}  // namespace

IdxArray read_idx_file(const std::filesystem::path& path, int rank) {
  GzipReader reader(path);
  const auto next_number = [&](const char* what) {
    std::array<std::uint8_t, 4> bytes{};
    if (reader.read(bytes.data(), 4) != 4) {
      throw FileError(fmt::format("{}: ends inside its header, before the {}", path.string(), what));
    }
    return big_endian(bytes.data());
  };

  const std::uint32_t magic = next_number("magic number");
  const std::uint32_t expected = 0x800U + static_cast<std::uint32_t>(rank);
  if (magic != expected) {
    throw FileError(fmt::format("{}: magic number is 0x{:08x}, expected 0x{:08x} (IDX, unsigned bytes, {} length{})",
                                path.string(), magic, expected, rank, rank == 1 ? "" : "s"));
  }
  IdxArray array;
  std::int64_t size = 1;
  for (int i = 0; i < rank; ++i) {
    const auto length = static_cast<std::int64_t>(next_number("lengths"));
    if (length > 0 && size > largest_array / length) {
      throw FileError(
          fmt::format("{}: claims more than {} values; its lengths are damaged", path.string(), largest_array));
    }
    size *= length;
    array.lengths.push_back(length);
  }
  // In steps: a damaged length is found out by the file's end, not by an allocation.
  while (static_cast<std::int64_t>(array.values.size()) < size) {
    const auto have = static_cast<std::int64_t>(array.values.size());
    const std::int64_t ask = std::min<std::int64_t>(size - have, 1 << 24);
    array.values.resize(static_cast<std::size_t>(have + ask));
    const std::int64_t got = reader.read(array.values.data() + have, ask);
    if (got != ask) {
      throw FileError(fmt::format("{}: is cut short: its header promises {} values and {} are there", path.string(),
                                  size, have + got));
    }
  }
  std::uint8_t extra = 0;
  if (reader.read(&extra, 1) != 0) {
    throw FileError(fmt::format("{}: goes on after the {} values its header promises", path.string(), size));
  }
  return array;
}

}  // namespace cerar
