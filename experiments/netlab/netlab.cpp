#include "experiments/netlab/netlab.h"

#include "experiments/netlab/network.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cerar::netlab {

namespace {

constexpr int kUnavailable = 77;

void validate(const NetlabOptions& options) {
  const auto require = [](bool holds, const std::string& sentence) {
    if (!holds) {
      throw std::invalid_argument(sentence);
    }
  };
  require(options.hosts >= 1 && options.hosts <= 250, fmt::format("{} hosts: from 1 to 250 can be had", options.hosts));
  require(options.mtu >= 576 && options.mtu <= 9000, fmt::format("an MTU of {}: it must be 576 to 9000", options.mtu));
  require(
      !options.burst_bytes || *options.burst_bytes >= options.mtu + 14,
      fmt::format("a burst of {} bytes: a frame of {} must fit", options.burst_bytes.value_or(0), options.mtu + 14));
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  const std::vector<std::string> known(std::istream_iterator<std::string>(file), {});
  require(options.congestion.empty() || std::ranges::count(known, options.congestion) > 0,
          fmt::format("a congestion control '{}': this kernel has {}", options.congestion, fmt::join(known, ", ")));
  require(!options.delay_seconds || (*options.delay_seconds > 0 && *options.delay_seconds < 10),
          "a delay must be positive and below 10 s");
}

/// Signals that ask for an end are passed on to the process that runs the network, which takes them like
/// `cerar launch`.
volatile std::sig_atomic_t running_child = 0;

extern "C" void pass_on(int signal) { kill(running_child, signal); }

int wait_for(pid_t child) {
  running_child = child;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) {
      std::signal(signal, pass_on);
    }
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Runs `body` in a child process, which does not outlive this one.
/// @return its status
template <class Body>
int in_child(const LaunchOptions& launch_options, Body body) {
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw UnavailableError(fmt::format("no process can be had here: {}", std::strerror(errno)));
  }
  if (child > 0) {
    return wait_for(child);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 1;
  try {
    // In a process namespace of its own a child does not see its parent.
    if (getppid() == parent || getppid() == 0) {
      status = body();
    }
  } catch (const UnavailableError& error) {
    launch_options.on_trouble(error.what());
    status = kUnavailable;
  } catch (const std::exception& error) {
    launch_options.on_trouble(error.what());
  }
  std::fflush(nullptr);
  _exit(status);
}

/// When the first process of a process namespace ends, the kernel ends all others in it.
int run_inside(const NetlabOptions& options, LaunchOptions launch_options, const std::string& agent) {
  const Network network(options);
  const std::vector<std::string> addresses = network.addresses();
  for (const LinkEvent& event : options.events) {
    if (fork() == 0) {
      network.change_later(event);
      _exit(0);
    }
  }
  if (options.once) {
    launch_options.workers = 1;
    launch_options.rank_0_inherits_output = true;
    launch_options.without_ranks = true;
    launch_options.environment.emplace_back("CERAR_NETLAB_HOSTS", fmt::format("{}", fmt::join(addresses, ",")));
    launch_options.environment.emplace_back("CERAR_NETLAB_AGENT", agent);
  } else {
    launch_options.workers = options.hosts;
  }
  launch_options.hosts = WorkerHosts{addresses.front(), [&](std::int64_t rank) { return network.enter(rank); }};
  return launch(launch_options);
}

}  // namespace

int run_in_netlab(const NetlabOptions& options, const LaunchOptions& launch_options, const std::string& agent) {
  validate(options);
  // The first child is for leaving threads behind, without which there is no new user namespace; its child is the first
  // process of the new process namespace.
  return in_child(launch_options, [&] {
    enter_private_namespaces();
    return in_child(launch_options, [&] { return run_inside(options, launch_options, agent); });
  });
}

int run_with_loopback_pacing(double bits_per_second, const LaunchOptions& launch_options,
                             const std::string& pacing_library) {
  if (!std::filesystem::exists(pacing_library)) {
    throw UnavailableError(fmt::format("{} is not there: pacing needs it beside the program", pacing_library));
  }
  LaunchOptions paced = launch_options;
  // Segments of 64 KB travel over the loopback: headers hardly count.
  paced.environment.emplace_back("CERAR_PACING_BYTES", fmt::format("{}", std::llround(bits_per_second / 8)));
  paced.environment.emplace_back("LD_PRELOAD", pacing_library);
  return launch(paced);
}

}  // namespace cerar::netlab
