#include "coding/code_file.h"

#include "coding/atomic_file.h"
#include "coding/error.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace cerar {
namespace {

using nlohmann::json;

constexpr int version = 1;
constexpr const char* algorithm = "shift";

std::string_view decoder_name(Decoder decoder) { return decoder == Decoder::paper ? "paper" : "own-exact"; }

/// Covers every field of the file, so that any edit shows; hash(Code) covers only what changes a result.
std::string content_hash(const Code& code) {
  std::string bytes;
  const auto add_number = [&](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      bytes.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * byte))));
    }
  };
  const auto add_text = [&](const std::string& text) {
    add_number(text.size());
    bytes += text;
  };
  add_number(hash(code));
  add_text(code.construction.name);
  add_number(code.construction.parameters.size());
  for (const auto& [name, value] : code.construction.parameters) {
    add_text(name);
    add_number(std::bit_cast<std::uint64_t>(value));
  }
  add_number(code.construction.seed);
  add_text(code.noise.wire);
  add_number(std::bit_cast<std::uint64_t>(code.noise.eta));
  add_number(std::bit_cast<std::uint64_t>(code.noise.correlation));
  add_number(std::bit_cast<std::uint64_t>(code.predicted_relative_error));
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

std::string matrices_text(const std::vector<Eigen::MatrixXd>& matrices) {
  std::string text = "[\n";
  for (std::size_t worker = 0; worker < matrices.size(); ++worker) {
    text += "    [";
    for (Eigen::Index row = 0; row < matrices[worker].rows(); ++row) {
      const Eigen::VectorXd values = matrices[worker].row(row).transpose();
      text += row == 0 ? "\n      " : ",\n      ";
      text += json(std::vector<double>(values.begin(), values.end())).dump();
    }
    text += worker + 1 < matrices.size() ? "],\n" : "]\n";
  }
  return text + "  ]";
}

/// One file being read: every complaint names it and the field.
class Reader {
 public:
  Reader(const std::filesystem::path& path, const json& document) : file_(path.string()), document_(document) {}

  [[noreturn]] void fail(const std::string& field, const std::string& what) const {
    throw FileError(fmt::format("{}: field {}: {}", file_, field, what));
  }

  [[nodiscard]] const json& field(const std::string& name) const { return field(document_, name, name); }

  [[nodiscard]] const json& field(const json& object, const std::string& key, const std::string& name) const {
    const auto found = object.find(key);
    if (found == object.end()) {
      fail(name, "it is missing; the file is no complete code file of version 1: fit the code again");
    }
    return *found;
  }

  [[nodiscard]] std::int64_t integer(const json& value, const std::string& name) const {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{1} << 62U);
    if (!fits) {
      fail(name, fmt::format("it must be an integer, but is {}", shown(value)));
    }
    return value.get<std::int64_t>();
  }

  [[nodiscard]] double number(const json& value, const std::string& name) const {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      fail(name, fmt::format("it must be a finite number, but is {}", shown(value)));
    }
    return value.get<double>();
  }

  [[nodiscard]] std::string text(const json& value, const std::string& name) const {
    if (!value.is_string()) {
      fail(name, fmt::format("it must be a text, but is {}", shown(value)));
    }
    return value.get<std::string>();
  }

  [[nodiscard]] const json& list(const json& value, const std::string& name, std::int64_t length,
                                 std::string_view of_what) const {
    if (!value.is_array()) {
      fail(name, fmt::format("it must be a list of {} {}, but is {}", length, of_what, shown(value)));
    }
    if (static_cast<std::int64_t>(value.size()) != length) {
      fail(name, fmt::format("it must be a list of {} {}, but has {}", length, of_what, value.size()));
    }
    return value;
  }

  [[nodiscard]] std::vector<Eigen::MatrixXd> matrices(const std::string& name, std::int64_t workers, std::int64_t rows,
                                                      std::int64_t columns) const {
    std::vector<Eigen::MatrixXd> result;
    const json& all = list(field(name), name, workers, "matrices, one a worker");
    for (std::size_t worker = 0; worker < all.size(); ++worker) {
      const std::string matrix_name = fmt::format("{}[{}]", name, worker);
      const json& row_list = list(all[worker], matrix_name, rows, "rows");
      Eigen::MatrixXd matrix(rows, columns);
      for (std::size_t row = 0; row < row_list.size(); ++row) {
        const std::string row_name = fmt::format("{}[{}]", matrix_name, row);
        const json& entries = list(row_list[row], row_name, columns, "numbers, one a chunk");
        for (std::size_t column = 0; column < entries.size(); ++column) {
          matrix(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
              number(entries[column], fmt::format("{}[{}]", row_name, column));
        }
      }
      result.push_back(std::move(matrix));
    }
    return result;
  }

 private:
  /// The value, shortened. What is nested is only named: dumping it would recurse as deep as the file says.
  static std::string shown(const json& value) {
    if (value.is_structured()) {
      return value.is_array() ? "a list" : "an object";
    }
    const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    return text.size() <= 40 ? text : text.substr(0, 37) + "...";
  }

  std::string file_;
  const json& document_;
};

std::string read_text(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw FileError(fmt::format("{}: cannot be read: it is a folder; name a code file, as `cerar fit -o` writes it",
                                path.string()));
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) {
    const bool empty = stream.is_open() && stream.peek() == std::ifstream::traits_type::eof();
    throw FileError(fmt::format("{}: {}; name a code file, as `cerar fit -o` writes it", path.string(),
                                empty ? "is empty" : fmt::format("cannot be read: {}", std::strerror(errno))));
  }
  return text.str();
}

json parse(const std::filesystem::path& path, const std::string& text) {
  std::string last_field;
  const auto remember = [&](int depth, json::parse_event_t event, json& value) {
    if (depth == 1 && event == json::parse_event_t::key) {
      last_field = value.get<std::string>();
    }
    return true;
  };
  try {
    json document = json::parse(text, remember);
    if (!document.is_object()) {
      throw FileError(fmt::format("{}: is JSON, but no object with the fields of a code file", path.string()));
    }
    return document;
  } catch (const json::exception& error) {
    throw FileError(fmt::format("{}: {} is no valid JSON: {}; the file is truncated or was edited: fit the code again",
                                path.string(), last_field.empty() ? "its beginning" : "field " + last_field,
                                error.what()));
  }
}

Decoder read_decoder(const Reader& reader) {
  const std::string name = reader.text(reader.field("decoder"), "decoder");
  for (const Decoder decoder : {Decoder::own_exact, Decoder::paper}) {
    if (name == decoder_name(decoder)) {
      return decoder;
    }
  }
  reader.fail("decoder", fmt::format("\"{}\" is unknown; this program knows \"own-exact\" and \"paper\"", name));
}

void read_description(const Reader& reader, Code& code) {
  code.construction.name = reader.text(reader.field("construction"), "construction");
  const json& parameters = reader.field("parameters");
  if (!parameters.is_object()) {
    reader.fail("parameters", "it must be an object of numbers");
  }
  for (const auto& [name, value] : parameters.items()) {
    code.construction.parameters[name] = reader.number(value, "parameters." + name);
  }
  const json& seed = reader.field("seed");
  if (!seed.is_number_unsigned()) {
    reader.fail("seed", "it must be an integer from 0 on");
  }
  code.construction.seed = seed.get<std::uint64_t>();
  const json& noise = reader.field("noise");
  if (!noise.is_object()) {
    reader.fail("noise", "it must be an object with wire, eta and correlation");
  }
  code.noise.wire = reader.text(reader.field(noise, "wire", "noise.wire"), "noise.wire");
  code.noise.eta = reader.number(reader.field(noise, "eta", "noise.eta"), "noise.eta");
  code.noise.correlation = reader.number(reader.field(noise, "correlation", "noise.correlation"), "noise.correlation");
  code.predicted_relative_error = reader.number(reader.field("predicted_relative_error"), "predicted_relative_error");
}

}  // namespace

void write_code_file(const Code& code, const std::filesystem::path& path) {
  validate(code);
  const json parameters = code.construction.parameters;
  const json noise = {{"wire", code.noise.wire}, {"eta", code.noise.eta}, {"correlation", code.noise.correlation}};
  std::string text = "{\n";
  const auto add = [&](std::string_view name, const std::string& value, bool last = false) {
    text += fmt::format("  \"{}\": {}{}\n", name, value, last ? "" : ",");
  };
  add("version", json(version).dump());
  add("algorithm", json(algorithm).dump());
  add("workers", json(code.shape.workers).dump());
  add("chunks", json(code.shape.chunks).dump());
  add("decoder", json(decoder_name(code.decoder)).dump());
  add("first_kept_round", json(code.first_kept_round).dump());
  add("construction", json(code.construction.name).dump());
  add("parameters", parameters.dump());
  add("seed", json(code.construction.seed).dump());
  add("noise", noise.dump());
  add("predicted_relative_error", json(code.predicted_relative_error).dump());
  add("content_hash", json(content_hash(code)).dump());
  add("U", matrices_text(code.encoders));
  add("R", matrices_text(code.decoders), true);
  write_file_atomically(path, text + "}\n");
}

Code read_code_file(const std::filesystem::path& path) {
  const json document = parse(path, read_text(path));
  const Reader reader(path, document);
  const std::int64_t found_version = reader.integer(reader.field("version"), "version");
  if (found_version != version) {
    reader.fail("version", fmt::format("it is {}, but this program reads version {}; fit the code again with this "
                                       "program, or take a newer one",
                                       found_version, version));
  }
  const std::string found_algorithm = reader.text(reader.field("algorithm"), "algorithm");
  if (found_algorithm != algorithm) {
    reader.fail("algorithm", fmt::format("\"{}\" is unknown; this program knows \"{}\"", found_algorithm, algorithm));
  }
  Code code;
  code.shape.workers = reader.integer(reader.field("workers"), "workers");
  code.shape.chunks = reader.integer(reader.field("chunks"), "chunks");
  try {
    validate(code.shape);
  } catch (const std::invalid_argument& error) {
    reader.fail("workers or chunks", error.what());
  }
  code.decoder = read_decoder(reader);
  code.first_kept_round = reader.integer(reader.field("first_kept_round"), "first_kept_round");
  const std::int64_t last_first = std::max<std::int64_t>(1, code.shape.workers - 1);
  if (code.first_kept_round < 1 || code.first_kept_round > last_first) {
    reader.fail("first_kept_round", fmt::format("it is {}, but must be from 1 to {} for {} workers",
                                                code.first_kept_round, last_first, code.shape.workers));
  }
  read_description(reader, code);
  code.encoders = reader.matrices("U", code.shape.workers, code.shape.rounds(), code.shape.chunks);
  code.decoders = reader.matrices("R", code.shape.workers, code.kept(), code.shape.chunks);
  try {
    validate(code);
  } catch (const std::invalid_argument& error) {
    reader.fail("decoder", error.what());
  }
  const std::string expected = reader.text(reader.field("content_hash"), "content_hash");
  if (content_hash(code) != expected) {
    reader.fail("content_hash", fmt::format("it says {}, but the file's contents have {}: the file was edited or "
                                            "damaged after it was written; fit the code again",
                                            expected, content_hash(code)));
  }
  return code;
}

}  // namespace cerar
