#pragma once

#include "coding/error.h"
#include "collective/launcher.h"
#include "experiments/netlab/link_rate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cerar::netlab {

/// A network of N hosts on this machine: each a network namespace with one interface, all at one bridge. What a host
/// sends is limited to a rate; what it receives is limited by who sends it.
struct NetlabOptions {
  std::int64_t hosts = 2;                   ///< N in [1, 250]
  double bits_per_second = 1e9;             ///< that a host can send, Ethernet headers included
  std::int64_t mtu = 1500;                  ///< in [576, 9000]
  std::optional<std::int64_t> burst_bytes;  ///< let pass at once after a pause; nothing: default_burst_bytes()
  std::optional<double> delay_seconds;      ///< added to what a host sends; needs the kernel's netem
  std::string congestion = "cubic";         ///< TCP congestion control; "" for the system's
  std::vector<LinkEvent> events;            ///< changes while the command runs
  bool once = false;                        ///< run the command once, on host 0, not on every host
};

/// This machine does not let such a network be built.
class UnavailableError : public Error {
 public:
  using Error::Error;
};

/// Runs launch.command on the hosts, one worker each, as launch() does; MASTER_ADDR is host 0's address. With `once` it
/// runs on host 0 only, without a rank, with CERAR_NETLAB_HOSTS (addresses, separated by commas) and CERAR_NETLAB_AGENT
/// in its environment: a command that, like rsh, is followed by a host and a command line for a shell there. Hosts are
/// also known by names, host0, host1, ..., and `ip netns exec host1 COMMAND` works.
///
/// All this happens in private user (unless root), mount, network and process namespaces: nothing of it is visible
/// outside, and it is gone when the calling process is, however that ends.
/// @param agent  the command for CERAR_NETLAB_AGENT, which calls enter_host()
/// @return status of the command, see launch(), or 77 if this machine does not let such a network be built, of which
///   launch.on_trouble is told
/// @throws std::invalid_argument for impossible options
[[nodiscard]] int run_in_netlab(const NetlabOptions& options, const LaunchOptions& launch, const std::string& agent);

/// Inside a netlab: moves this process to a host, given by its address or name.
/// @throws Error if there is no such host here
void enter_host(const std::string& host);

/// Runs launch.command on this host's loopback, as launch() does, with every TCP connection's sending paced to a rate:
/// where no namespaces can be had. Needs no privileges.
/// @param pacing_library  path of libcerar_pacing.so
/// @throws UnavailableError if the library is not there
[[nodiscard]] int run_with_loopback_pacing(double bits_per_second, const LaunchOptions& launch,
                                           const std::string& pacing_library);

}  // namespace cerar::netlab
