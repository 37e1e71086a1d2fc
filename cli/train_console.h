#pragma once

#include "experiments/train_records.h"

#include <chrono>

namespace cerar::cli {

/// Tells a person how a run goes: what is run, one refreshed line of progress if standard error is a terminal, the
/// results.
class TrainConsole : public TrainReporter {
 public:
  TrainConsole();
  ~TrainConsole() override;

  void header(const TrainHeader& record) override;
  void step(const TrainStep& record) override;
  void summary(const TrainSummary& record) override;

 private:
  void clear_line();

  bool is_terminal_;
  bool line_is_drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  TrainHeader header_;
};

}  // namespace cerar::cli
