#pragma once

#include <Eigen/Core>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cerar {

/// A JSON file being read field by field: every complaint names the file and the field, and says what was expected
/// there.
class FieldReader {
 public:
  FieldReader(const std::filesystem::path& path, const nlohmann::json& document)
      : file_(path.string()), document_(document) {}

  /// @throws FileError
  [[noreturn]] void fail(const std::string& field, const std::string& what) const;

  // Each of these throws FileError unless the value is there and what it should be.

  [[nodiscard]] const nlohmann::json& field(const std::string& name) const { return field(document_, name, name); }
  /// A field that may be left out: nullptr where it is.
  [[nodiscard]] const nlohmann::json* find(const std::string& name) const {
    const auto found = document_.find(name);
    return found == document_.end() ? nullptr : &*found;
  }
  /// @param name  of the field as complaints show it, e.g. "noise.eta"
  [[nodiscard]] const nlohmann::json& field(const nlohmann::json& object, const std::string& key,
                                            const std::string& name) const;
  [[nodiscard]] std::int64_t integer(const nlohmann::json& value, const std::string& name) const;
  [[nodiscard]] double number(const nlohmann::json& value, const std::string& name) const;
  [[nodiscard]] bool boolean(const nlohmann::json& value, const std::string& name) const;
  [[nodiscard]] std::string text(const nlohmann::json& value, const std::string& name) const;
  [[nodiscard]] const nlohmann::json& list(const nlohmann::json& value, const std::string& name, std::int64_t length,
                                           std::string_view of_what) const;
  /// A matrix, as a list of rows.
  /// @param of_what  what the numbers of a row are, e.g. "numbers, one a chunk"
  [[nodiscard]] Eigen::MatrixXd matrix(const nlohmann::json& value, const std::string& name, std::int64_t rows,
                                       std::int64_t columns, std::string_view of_what) const;
  /// `workers` matrices of rows x columns, as lists of rows.
  [[nodiscard]] std::vector<Eigen::MatrixXd> matrices(const std::string& name, std::int64_t workers, std::int64_t rows,
                                                      std::int64_t columns) const;

 private:
  std::string file_;
  const nlohmann::json& document_;
};

/// The file's JSON object.
/// @throws FileError if it cannot be read, is no JSON (naming the field where it breaks off) or no object
[[nodiscard]] nlohmann::json read_json_object(const std::filesystem::path& path);

}  // namespace cerar
