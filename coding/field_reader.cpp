#include "coding/field_reader.h"

#include "coding/error.h"

#include <fmt/core.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

namespace cerar {

using nlohmann::json;

namespace {

/// The value, shortened. What is nested is only named: dumping it would recurse as deep as the file says.
std::string shown(const json& value) {
  if (value.is_structured()) {
    return value.is_array() ? "a list" : "an object";
  }
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

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

}  // namespace

void FieldReader::fail(const std::string& field, const std::string& what) const {
  throw FileError(fmt::format("{}: field {}: {}", file_, field, what));
}

const json& FieldReader::field(const json& object, const std::string& key, const std::string& name) const {
  const auto found = object.find(key);
  if (found == object.end()) {
    fail(name, "it is missing; the file is no complete code file of version 1: fit the code again");
  }
  return *found;
}

std::int64_t FieldReader::integer(const json& value, const std::string& name) const {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{1} << 62U);
  if (!fits) {
    fail(name, fmt::format("it must be an integer, but is {}", shown(value)));
  }
  return value.get<std::int64_t>();
}

double FieldReader::number(const json& value, const std::string& name) const {
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    fail(name, fmt::format("it must be a finite number, but is {}", shown(value)));
  }
  return value.get<double>();
}

bool FieldReader::boolean(const json& value, const std::string& name) const {
  if (!value.is_boolean()) {
    fail(name, fmt::format("it must be true or false, but is {}", shown(value)));
  }
  return value.get<bool>();
}

std::string FieldReader::text(const json& value, const std::string& name) const {
  if (!value.is_string()) {
    fail(name, fmt::format("it must be a text, but is {}", shown(value)));
  }
  return value.get<std::string>();
}

const json& FieldReader::list(const json& value, const std::string& name, std::int64_t length,
                              std::string_view of_what) const {
  if (!value.is_array()) {
    fail(name, fmt::format("it must be a list of {} {}, but is {}", length, of_what, shown(value)));
  }
  if (static_cast<std::int64_t>(value.size()) != length) {
    fail(name, fmt::format("it must be a list of {} {}, but has {}", length, of_what, value.size()));
  }
  return value;
}

Eigen::MatrixXd FieldReader::matrix(const json& value, const std::string& name, std::int64_t rows, std::int64_t columns,
                                    std::string_view of_what) const {
  const json& row_list = list(value, name, rows, "rows");
  Eigen::MatrixXd matrix(rows, columns);
  for (std::size_t row = 0; row < row_list.size(); ++row) {
    const std::string row_name = fmt::format("{}[{}]", name, row);
    const json& entries = list(row_list[row], row_name, columns, of_what);
    for (std::size_t column = 0; column < entries.size(); ++column) {
      matrix(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
          number(entries[column], fmt::format("{}[{}]", row_name, column));
    }
  }
  return matrix;
}

std::vector<Eigen::MatrixXd> FieldReader::matrices(const std::string& name, std::int64_t workers, std::int64_t rows,
                                                   std::int64_t columns) const {
  std::vector<Eigen::MatrixXd> result;
  const json& all = list(field(name), name, workers, "matrices, one a worker");
  for (std::size_t worker = 0; worker < all.size(); ++worker) {
    result.push_back(matrix(all[worker], fmt::format("{}[{}]", name, worker), rows, columns, "numbers, one a chunk"));
  }
  return result;
}

json read_json_object(const std::filesystem::path& path) {
  const std::string text = read_text(path);
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

}  // namespace cerar
