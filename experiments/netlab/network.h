#pragma once

#include "experiments/netlab/netlab.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cerar::netlab {

/// Moves this process, or its next child where processes are concerned, into user (unless root), mount, network and
/// process namespaces of its own.
/// @throws UnavailableError with the system's reason
void enter_private_namespaces();

/// The hosts and the bridge between them, made in the present network namespace; gone with it.
class Network {
 public:
  /// @throws UnavailableError if the kernel lacks what it takes
  explicit Network(const NetlabOptions& options);

  /// One a host, in order.
  [[nodiscard]] std::vector<std::string> addresses() const;

  /// Moves this process to host `host`; async-signal-safe.
  [[nodiscard]] bool enter(std::int64_t host) const noexcept;

  /// Sleeps until the event is due and makes it happen.
  void change_later(const LinkEvent& event) const;

 private:
  struct Host {
    int network = -1;  ///< descriptors of the host's namespaces
    int name = -1;
  };

  void make_host(std::int64_t host);
  void limit(std::int64_t host, double bits_per_second, bool is_new) const;
  void in_host(std::int64_t host, const std::vector<std::string>& command, const std::string& input) const;

  const NetlabOptions& options_;
  int bridge_namespace_ = -1;
  std::vector<Host> hosts_;
};

}  // namespace cerar::netlab
