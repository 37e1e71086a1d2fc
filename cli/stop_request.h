#pragma once

namespace cerar::cli {

/// While it lives, SIGINT (Ctrl-C) and SIGTERM ask for an end instead of ending the program; one that comes two seconds
/// later or more does end it. One at a time.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// The signal that asked for an end, 0 if none has. To be asked from any thread.
  [[nodiscard]] static int signal();
};

}  // namespace cerar::cli
