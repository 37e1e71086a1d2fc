#include "experiments/netlab/network.h"

#include "experiments/netlab/run_tool.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace cerar::netlab {

namespace {

// Where `ip netns exec` looks; a file system of this mount namespace's own.
constexpr const char* kNetworks = "/run/netns";
constexpr const char* kNames = "/run/utsns";

std::string reason() { return std::strerror(errno); }

[[noreturn]] void unavailable(const std::string& what, const std::string& why) {
  throw UnavailableError(fmt::format("no network of namespaces can be had here: {}: {}", what, why));
}

void require(bool worked, const std::string& what) {
  if (!worked) {
    unavailable(what, reason());
  }
}

void write_text(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  require(static_cast<bool>(file), path);
}

std::string name_of(std::int64_t host) { return fmt::format("host{}", host); }
std::string address_of(std::int64_t host) { return fmt::format("10.77.0.{}", host + 1); }

void run(const std::vector<std::string>& command, const std::string& input = {}) {
  const std::string complaint = run_tool(command, input);
  if (!complaint.empty()) {
    unavailable(fmt::format("{} says", command.front()), complaint);
  }
}

/// A new namespace that stays when this process leaves it, under a name.
int keep_namespace(const char* kind, const std::string& path) {
  std::ofstream(path) << "";
  require(mount(fmt::format("/proc/self/ns/{}", kind).c_str(), path.c_str(), "none", MS_BIND, nullptr) == 0, path);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(descriptor >= 0, path);
  return descriptor;
}

}  // namespace

void enter_private_namespaces() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  const int wanted = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWUTS | (user != 0 ? CLONE_NEWUSER : 0);
  require(unshare(wanted) == 0, "unshare");
  if (user != 0) {
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", fmt::format("0 {} 1", user));
    write_text("/proc/self/gid_map", fmt::format("0 {} 1", group));
  }
  require(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "making mounts private");
}

Network::Network(const NetlabOptions& options) : options_(options), hosts_(static_cast<std::size_t>(options.hosts)) {
  // Tools that look for processes should see those in here; where the system forbids it they see the others.
  static_cast<void>(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
  require(mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0, "mounting /run");
  std::filesystem::create_directory(kNetworks);
  std::filesystem::create_directory(kNames);
  std::string names = "127.0.0.1 localhost\n";
  for (std::int64_t host = 0; host < options.hosts; ++host) {
    names += fmt::format("{} {}\n", address_of(host), name_of(host));
  }
  write_text("/run/hosts", names);
  require(mount("/run/hosts", "/etc/hosts", "none", MS_BIND, nullptr) == 0, "naming hosts");

  bridge_namespace_ = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  run({"ip", "-batch", "-"}, fmt::format("link add bridge0 type bridge\nlink set bridge0 mtu {} up\n", options.mtu));
  for (std::int64_t host = 0; host < options.hosts; ++host) {
    make_host(host);
  }
}

void Network::make_host(std::int64_t host) {
  Host& made = hosts_[static_cast<std::size_t>(host)];
  const std::string name = name_of(host);
  require(unshare(CLONE_NEWNET | CLONE_NEWUTS) == 0, "unshare");
  require(sethostname(name.c_str(), name.size()) == 0, "sethostname");
  made.network = keep_namespace("net", fmt::format("{}/{}", kNetworks, name));
  made.name = keep_namespace("uts", fmt::format("{}/{}", kNames, name));
  require(setns(bridge_namespace_, CLONE_NEWNET) == 0, "setns");
  run({"ip", "-batch", "-"}, fmt::format("link add port{0} mtu {1} type veth peer name eth0 mtu {1} netns host{0}\n"
                                         "link set port{0} master bridge0 up\n",
                                         host, options_.mtu));
  in_host(host, {"ip", "-batch", "-"},
          fmt::format("link set lo up\nlink set eth0 up\naddr add {}/16 dev eth0\n", address_of(host)));
  if (!options_.congestion.empty()) {
    in_host(host,
            {"ip", "route", "replace", "10.77.0.0/16", "dev", "eth0", "src", address_of(host), "congctl",
             options_.congestion},
            {});
  }
  if (options_.delay_seconds) {
    in_host(host,
            {"tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "netem", "delay",
             fmt::format("{}us", static_cast<std::int64_t>(*options_.delay_seconds * 1e6)), "limit", "100000"},
            {});
  }
  limit(host, options_.bits_per_second, true);
}

void Network::limit(std::int64_t host, double bits_per_second, bool is_new) const {
  const std::int64_t burst = options_.burst_bytes.value_or(default_burst_bytes(bits_per_second));
  std::vector<std::string> command = {"tc", "qdisc", is_new ? "add" : "replace", "dev", "eth0"};
  if (options_.delay_seconds) {
    command.insert(command.end(), {"parent", "1:1"});
  } else {
    command.emplace_back("root");
  }
  command.insert(command.end(), {"tbf", "rate", fmt::format("{:.0f}bit", bits_per_second), "burst",
                                 fmt::format("{}", burst), "latency", "20ms"});
  in_host(host, command, {});
}

void Network::in_host(std::int64_t host, const std::vector<std::string>& command, const std::string& input) const {
  require(setns(hosts_[static_cast<std::size_t>(host)].network, CLONE_NEWNET) == 0, "setns");
  const std::string complaint = run_tool(command, input);
  require(setns(bridge_namespace_, CLONE_NEWNET) == 0, "setns");
  if (!complaint.empty()) {
    unavailable(fmt::format("{} says", command.front()), complaint);
  }
}

std::vector<std::string> Network::addresses() const {
  std::vector<std::string> addresses;
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    addresses.push_back(address_of(static_cast<std::int64_t>(host)));
  }
  return addresses;
}

bool Network::enter(std::int64_t host) const noexcept {
  const Host& entered = hosts_[static_cast<std::size_t>(host)];
  return setns(entered.network, CLONE_NEWNET) == 0 && setns(entered.name, CLONE_NEWUTS) == 0;
}

void Network::change_later(const LinkEvent& event) const {
  std::this_thread::sleep_for(std::chrono::duration<double>(event.seconds));
  if (event.change == LinkEvent::Change::rate) {
    limit(event.host, event.bits_per_second, false);
  } else {
    // The bridge's end: the host keeps its address and routes, its frames go nowhere.
    run({"ip", "link", "set", fmt::format("port{}", event.host),
         event.change == LinkEvent::Change::up ? "up" : "down"});
  }
}

void enter_host(const std::string& host) {
  constexpr std::string_view kPrefix = "10.77.0.";
  std::string name = host;
  if (host.starts_with(kPrefix)) {
    name = name_of(std::atoll(host.c_str() + kPrefix.size()) - 1);
  }
  const std::array<std::pair<const char*, int>, 2> namespaces = {{{kNetworks, CLONE_NEWNET}, {kNames, CLONE_NEWUTS}}};
  for (const auto& [folder, kind] : namespaces) {
    const int descriptor = open(fmt::format("{}/{}", folder, name).c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || setns(descriptor, kind) != 0) {
      throw Error(
          fmt::format("there is no host '{}' here ({}); hosts are known inside `cerar netlab --once`", host, reason()));
    }
    close(descriptor);
  }
}

}  // namespace cerar::netlab
