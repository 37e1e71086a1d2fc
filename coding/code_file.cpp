#include "coding/code_file.h"

#include "coding/atomic_file.h"
#include "coding/error.h"
#include "coding/field_reader.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace cerar {
namespace {

using nlohmann::json;

constexpr int version = 1;
/// The protocols a file can be for: the paper's (U, R), and the piggyback ring.
constexpr const char* shift = "shift";
constexpr const char* piggyback = "piggyback";

/// Collects what a content hash covers.
class HashedBytes {
 public:
  void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      bytes_.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * byte))));
    }
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(const std::string& text) {
    add(std::uint64_t{text.size()});
    bytes_ += text;
  }
  void add(const NoiseModel& noise) {
    add(noise.wire);
    add(noise.eta);
    add(noise.correlation);
    if (noise.covariance.size() > 0) {
      add(std::string("covariance"));
      for (const double entry : noise.covariance.reshaped<Eigen::RowMajor>()) {
        add(entry);
      }
    }
  }
  [[nodiscard]] std::string hash() const { return fmt::format("{:016x}", XXH3_64bits(bytes_.data(), bytes_.size())); }

 private:
  std::string bytes_;
};

/// Covers every field of the file, so that any edit shows; hash(Code) covers only what changes a result.
std::string content_hash(const Code& code) {
  HashedBytes bytes;
  bytes.add(hash(code));
  bytes.add(code.construction.name);
  bytes.add(std::uint64_t{code.construction.parameters.size()});
  for (const auto& [name, value] : code.construction.parameters) {
    bytes.add(name);
    bytes.add(value);
  }
  bytes.add(code.construction.seed);
  bytes.add(code.noise);
  bytes.add(code.predicted_relative_error);
  if (code.simulated_relative_error) {
    bytes.add(std::string("simulated_relative_error"));
    bytes.add(*code.simulated_relative_error);
  }
  return bytes.hash();
}

std::string content_hash(const PiggybackCode& code) {
  HashedBytes bytes;
  bytes.add(hash(code));
  bytes.add(code.noise);
  bytes.add(code.predicted_relative_error);
  return bytes.hash();
}

json rows_of(const Eigen::MatrixXd& matrix) {
  json rows = json::array();
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    const Eigen::VectorXd values = matrix.row(row).transpose();
    rows.push_back(std::vector<double>(values.begin(), values.end()));
  }
  return rows;
}

std::string matrices_text(const std::vector<Eigen::MatrixXd>& matrices) {
  std::string text = "[\n";
  for (std::size_t worker = 0; worker < matrices.size(); ++worker) {
    text += "    [";
    bool first = true;
    for (const json& row : rows_of(matrices[worker])) {
      text += first ? "\n      " : ",\n      ";
      text += row.dump();
      first = false;
    }
    text += worker + 1 < matrices.size() ? "],\n" : "]\n";
  }
  return text + "  ]";
}

Decoder read_decoder(const FieldReader& reader) {
  const std::string found = reader.text(reader.field("decoder"), "decoder");
  for (const Decoder decoder : {Decoder::own_exact, Decoder::paper}) {
    if (found == name(decoder)) {
      return decoder;
    }
  }
  reader.fail("decoder", fmt::format("\"{}\" is unknown; this program knows \"own-exact\" and \"paper\"", found));
}

NoiseModel read_noise(const FieldReader& reader, std::int64_t workers) {
  const json& noise = reader.field("noise");
  if (!noise.is_object()) {
    reader.fail("noise", "it must be an object with wire, eta and correlation");
  }
  NoiseModel model = {
      .wire = reader.text(reader.field(noise, "wire", "noise.wire"), "noise.wire"),
      .eta = reader.number(reader.field(noise, "eta", "noise.eta"), "noise.eta"),
      .correlation = reader.number(reader.field(noise, "correlation", "noise.correlation"), "noise.correlation")};
  if (const auto found = noise.find("covariance"); found != noise.end()) {
    model.covariance = reader.matrix(*found, "noise.covariance", workers, workers, "numbers, one a worker");
  }
  try {
    validate(model, workers);
  } catch (const std::invalid_argument& error) {
    reader.fail("noise", error.what());
  }
  return model;
}

void read_description(const FieldReader& reader, Code& code) {
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
  code.noise = read_noise(reader, code.shape.workers);
  code.predicted_relative_error = reader.number(reader.field("predicted_relative_error"), "predicted_relative_error");
  if (const json* simulated = reader.find("simulated_relative_error")) {
    code.simulated_relative_error = reader.number(*simulated, "simulated_relative_error");
  }
}

void require_content_hash(const FieldReader& reader, const std::string& actual) {
  const std::string expected = reader.text(reader.field("content_hash"), "content_hash");
  if (actual != expected) {
    reader.fail("content_hash", fmt::format("it says {}, but the file's contents have {}: the file was edited or "
                                            "damaged after it was written; fit the code again",
                                            expected, actual));
  }
}

Code read_shift_code(const FieldReader& reader, const RingShape& shape) {
  Code code;
  code.shape = shape;
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
  require_content_hash(reader, content_hash(code));
  return code;
}

PiggybackCode read_piggyback_code(const FieldReader& reader, const RingShape& shape) {
  PiggybackCode code;
  code.shape = shape;
  code.d = reader.number(reader.field("d"), "d");
  code.adapts_scale = reader.boolean(reader.field("adapts_scale"), "adapts_scale");
  code.noise = read_noise(reader, shape.workers);
  code.predicted_relative_error = reader.number(reader.field("predicted_relative_error"), "predicted_relative_error");
  try {
    validate(code);
  } catch (const std::invalid_argument& error) {
    reader.fail("chunks or d", error.what());
  }
  require_content_hash(reader, content_hash(code));
  return code;
}

/// The lines of one JSON object, in the order in which they are added.
class ObjectText {
 public:
  void add(std::string_view name, const std::string& value) {
    text_ += fmt::format("{}  \"{}\": {}", text_.empty() ? "" : ",\n", name, value);
  }
  void add(std::string_view name, const json& value) { add(name, value.dump()); }
  void add(const NoiseModel& noise) {
    json object = {{"wire", noise.wire}, {"eta", noise.eta}, {"correlation", noise.correlation}};
    if (noise.covariance.size() > 0) {
      object["covariance"] = rows_of(noise.covariance);
    }
    add("noise", object);
  }
  [[nodiscard]] std::string whole() const { return "{\n" + text_ + "\n}\n"; }

 private:
  std::string text_;
};

void describe(const Code& code, ObjectText& object) {
  object.add("decoder", json(name(code.decoder)));
  object.add("first_kept_round", json(code.first_kept_round));
  object.add("construction", json(code.construction.name));
  object.add("parameters", json(code.construction.parameters));
  object.add("seed", json(code.construction.seed));
  object.add(code.noise);
  object.add("predicted_relative_error", json(code.predicted_relative_error));
  if (code.simulated_relative_error) {
    object.add("simulated_relative_error", json(*code.simulated_relative_error));
  }
  object.add("content_hash", json(content_hash(code)));
  object.add("U", matrices_text(code.encoders));
  object.add("R", matrices_text(code.decoders));
}

void describe(const PiggybackCode& code, ObjectText& object) {
  object.add("d", json(code.d));
  object.add("adapts_scale", json(code.adapts_scale));
  object.add(code.noise);
  object.add("predicted_relative_error", json(code.predicted_relative_error));
  object.add("content_hash", json(content_hash(code)));
}

}  // namespace

void write_code_file(const RingCode& code, const std::filesystem::path& path) {
  validate(code);
  ObjectText object;
  object.add("version", json(version));
  object.add("algorithm", json(std::holds_alternative<Code>(code) ? shift : piggyback));
  object.add("workers", json(shape_of(code).workers));
  object.add("chunks", json(shape_of(code).chunks));
  std::visit([&](const auto& one) { describe(one, object); }, code);
  write_file_atomically(path, object.whole());
}

RingCode read_code_file(const std::filesystem::path& path) {
  const json document = read_json_object(path);
  const FieldReader reader(path, document);
  const std::int64_t found_version = reader.integer(reader.field("version"), "version");
  if (found_version != version) {
    reader.fail("version", fmt::format("it is {}, but this program reads version {}; fit the code again with this "
                                       "program, or take a newer one",
                                       found_version, version));
  }
  const std::string algorithm = reader.text(reader.field("algorithm"), "algorithm");
  if (algorithm != shift && algorithm != piggyback) {
    reader.fail("algorithm",
                fmt::format("\"{}\" is unknown; this program knows \"{}\" and \"{}\"", algorithm, shift, piggyback));
  }
  const RingShape shape{reader.integer(reader.field("workers"), "workers"),
                        reader.integer(reader.field("chunks"), "chunks")};
  try {
    validate(shape);
  } catch (const std::invalid_argument& error) {
    reader.fail("workers or chunks", error.what());
  }
  if (algorithm == piggyback) {
    return read_piggyback_code(reader, shape);
  }
  return read_shift_code(reader, shape);
}

Code read_shift_code_file(const std::filesystem::path& path) {
  RingCode code = read_code_file(path);
  if (!std::holds_alternative<Code>(code)) {
    throw FileError(
        fmt::format("{}: is a piggyback code, which has no matrices U and R; name a code of another "
                    "construction",
                    path.string()));
  }
  return std::get<Code>(std::move(code));
}

}  // namespace cerar
