#include "cli/train_console.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <unistd.h>

namespace cerar::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string short_time(double seconds) {
  const long whole = std::lround(seconds);
  return whole < 60 ? fmt::format("{} s", whole) : fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace

TrainConsole::TrainConsole() : is_terminal_(isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()) {}

TrainConsole::~TrainConsole() { clear_line(); }

void TrainConsole::header(const TrainHeader& record) {
  header_ = record;
  start_ = std::chrono::steady_clock::now();
  const std::string ring =
      record.code ? fmt::format("{} ring ({} workers, {} chunks, {} rounds)", record.reduce, record.workers,
                                record.code->chunks, record.code->rounds)
                  : fmt::format("{} ring ({} worker{})", record.reduce, record.workers, record.workers == 1 ? "" : "s");
  fmt::print("{}: {} steps of {} x {} images, {} from rate {}, {} parameters\n", ring, record.steps, record.workers,
             record.batch, record.optimizer, record.learning_rate, record.parameters);
  std::fflush(stdout);
}

void TrainConsole::step(const TrainStep& record) {
  if (!is_terminal_) {
    return;
  }
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double left = elapsed / static_cast<double>(record.step) * static_cast<double>(header_.steps - record.step);
  const std::string error = record.gradient_error ? "  gradient error " + percent(*record.gradient_error) : "";
  clear_line();
  fmt::print(stderr, "step {} of {}  loss {:.4f}{}  {} left", record.step, header_.steps, record.loss, error,
             short_time(left));
  std::fflush(stderr);
  line_is_drawn_ = true;
}

void TrainConsole::summary(const TrainSummary& record) {
  clear_line();
  if (record.interrupted) {
    fmt::print("interrupted after step {} of {}; these are the results so far\n", record.steps, header_.steps);
  }
  fmt::print("test accuracy by replica:");
  for (const double share : record.test_accuracy) {
    fmt::print(" {:.2f} %", 100 * share);
  }
  fmt::print("\n");
  if (record.gradient_error_max) {
    fmt::print("gradient error: mean {}, largest {}, largest in any one layer {}\n",
               percent(record.gradient_error_mean.value_or(0)), percent(*record.gradient_error_max),
               percent(record.gradient_error_worst_layer_max.value_or(0)));
  }
  if (record.replica_divergence) {
    fmt::print("replica drift: {:.2g} of the parameters' norm\n", *record.replica_divergence);
  }
  const double steps = static_cast<double>(record.steps > 0 ? record.steps : 1);
  fmt::print("sent by each worker: {:.0f} bytes a step\n", static_cast<double>(record.wire_bytes) / steps);
  fmt::print("time: {:.1f} s, {:.1f} s of it in all-reduces\n", record.seconds, record.communication_seconds);
  std::fflush(stdout);
}

void TrainConsole::clear_line() {
  if (line_is_drawn_) {
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    line_is_drawn_ = false;
  }
}

}  // namespace cerar::cli
