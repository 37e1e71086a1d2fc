#include "experiments/train_file.h"

#include "coding/error.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

namespace cerar {
namespace {

using Json = nlohmann::json;

/// A JSON object with its place, for errors that name it.
class Record {
 public:
  Record(std::string place, Json object) : place_(std::move(place)), object_(std::move(object)) {
    if (!object_.is_object()) {
      fail("is no JSON object");
    }
  }

  [[noreturn]] void fail(const std::string& what) const { throw FileError(fmt::format("{}: {}", place_, what)); }

  [[nodiscard]] bool has(const char* field) const { return object_.contains(field); }

  template <class T>
  [[nodiscard]] T get(const char* field) const {
    return convert<T>(field, at(field));
  }

  template <class T>
  [[nodiscard]] std::vector<T> get_list(const char* field) const {
    const Json& list = at(field);
    if (!list.is_array()) {
      wrong_type(field, list, "a list");
    }
    std::vector<T> values;
    for (const Json& value : list) {
      values.push_back(convert<T>(field, value));
    }
    return values;
  }

  /// A number that a run may not have measured; null is an infinity.
  [[nodiscard]] std::optional<double> measured(const char* field) const {
    if (!has(field)) {
      return std::nullopt;
    }
    return at(field).is_null() ? std::numeric_limits<double>::infinity() : get<double>(field);
  }

  [[nodiscard]] Record inner(const char* field) const { return {fmt::format("{}: \"{}\"", place_, field), at(field)}; }

 private:
  [[nodiscard]] const Json& at(const char* field) const {
    const auto found = object_.find(field);
    if (found == object_.end()) {
      fail(fmt::format("field \"{}\" is missing", field));
    }
    return *found;
  }

  [[noreturn]] void wrong_type(const char* field, const Json& value, const char* expected) const {
    fail(fmt::format("field \"{}\" holds {}, expected {}", field, value.dump(), expected));
  }

  template <class T>
  [[nodiscard]] T convert(const char* field, const Json& value) const {
    if constexpr (std::is_same_v<T, std::string>) {
      if (!value.is_string()) {
        wrong_type(field, value, "a text");
      }
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!value.is_boolean()) {
        wrong_type(field, value, "true or false");
      }
    } else if constexpr (std::is_same_v<T, double>) {
      if (!value.is_number()) {
        wrong_type(field, value, "a number");
      }
    } else {
      if (!value.is_number_unsigned()) {
        wrong_type(field, value, "a whole number of at least 0");
      }
    }
    return value.get<T>();
  }

  std::string place_;
  Json object_;
};

TrainHeader header_of(const Record& record) {
  if (const auto format = record.get<std::int64_t>("format"); format != 1) {
    record.fail(fmt::format("format is {}, this version reads 1", format));
  }
  TrainHeader header;
  header.version = record.get<std::string>("version");
  header.workers = record.get<std::int64_t>("workers");
  header.reduce = record.get<std::string>("reduce");
  if (record.has("code")) {
    const Record code = record.inner("code");
    header.code = CodeFacts{code.get<std::string>("file"),         code.get<std::string>("hash"),
                            code.get<std::string>("construction"), code.get<std::int64_t>("chunks"),
                            code.get<std::int64_t>("rounds"),      code.get<double>("predicted_relative_error")};
  }
  header.steps = record.get<std::int64_t>("steps");
  header.batch = record.get<std::int64_t>("batch");
  header.optimizer = record.get<std::string>("optimizer");
  header.learning_rate = record.get<double>("learning_rate");
  header.seed = record.get<std::uint64_t>("seed");
  header.report_error_every = record.get<std::int64_t>("report_error_every");
  header.parameters = record.get<std::int64_t>("parameters");
  header.tensor_lengths = record.get_list<std::int64_t>("tensor_lengths");
  header.training_images = record.get<std::int64_t>("training_images");
  header.test_images = record.get<std::int64_t>("test_images");
  const Record machine = record.inner("machine");
  header.machine = {machine.get<std::int64_t>("processors"), machine.get<std::string>("compiler"),
                    machine.get<std::string>("blas")};
  return header;
}

TrainStep step_of(const Record& record) {
  return {record.get<std::int64_t>("step"),      record.get<double>("loss"),
          record.measured("gradient_error"),     record.measured("gradient_error_worst_layer"),
          record.measured("replica_divergence"), record.get<std::int64_t>("wire_bytes")};
}

TrainSummary summary_of(const Record& record) {
  TrainSummary summary;
  summary.reduce = record.get<std::string>("reduce");
  summary.steps = record.get<std::int64_t>("steps");
  summary.interrupted = record.get<bool>("interrupted");
  summary.test_accuracy = record.get_list<double>("test_accuracy");
  summary.seconds = record.get<double>("seconds");
  summary.communication_seconds = record.get<double>("communication_seconds");
  summary.wire_bytes = record.get<std::int64_t>("wire_bytes");
  summary.gradient_error_mean = record.measured("gradient_error_mean");
  summary.gradient_error_max = record.measured("gradient_error_max");
  summary.gradient_error_worst_layer_max = record.measured("gradient_error_worst_layer_max");
  summary.replica_divergence = record.measured("replica_divergence");
  return summary;
}

void add_record(TrainRun& run, bool first, const Record& record) {
  const auto type = record.get<std::string>("type");
  if (first != (type == "header")) {
    record.fail(first ? fmt::format("the first record is a {}, expected the header of a cerar train run", type)
                      : "a second header; the file holds more than one run");
  }
  if (run.summary) {
    record.fail("goes on after the summary");
  }
  if (type == "header") {
    run.header = header_of(record);
  } else if (type == "step") {
    run.steps.push_back(step_of(record));
    if (run.steps.size() > 1 && run.steps.back().step <= run.steps[run.steps.size() - 2].step) {
      record.fail(fmt::format("step {} follows step {}", run.steps.back().step, run.steps[run.steps.size() - 2].step));
    }
  } else if (type == "summary") {
    run.summary = summary_of(record);
  } else {
    record.fail(fmt::format("record type \"{}\" is unknown; known are header, step and summary", type));
  }
}

}  // namespace

void TrainFileReporter::header(const TrainHeader& record) { file_.write(to_json(record)); }

void TrainFileReporter::step(const TrainStep& record) { file_.write(to_json(record)); }

void TrainFileReporter::summary(const TrainSummary& record) {
  file_.write(to_json(record));
  file_.commit();
}

TrainRun read_train_file(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream stream(path);
  if (!stream || std::filesystem::is_directory(path)) {
    throw FileError(fmt::format("{} cannot be read ({}); it should be what cerar train --json wrote", path.string(),
                                errno != 0 ? std::strerror(errno) : "it is a folder"));
  }
  TrainRun run;
  std::string line;
  std::int64_t number = 0;
  while (std::getline(stream, line)) {
    const std::string place = fmt::format("{}:{}", path.string(), ++number);
    Json object = Json::parse(line, nullptr, false);
    if (object.is_discarded()) {
      throw FileError(
          fmt::format("{}: is no JSON{}", place, stream.eof() ? "; the file is cut short in its last line" : ""));
    }
    add_record(run, number == 1, Record(place, std::move(object)));
  }
  if (number == 0) {
    throw FileError(fmt::format("{}:1: the file is empty, expected the header of a cerar train run", path.string()));
  }
  return run;
}

}  // namespace cerar
