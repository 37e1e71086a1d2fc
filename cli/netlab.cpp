#include "experiments/netlab/netlab.h"

#include "cli/commands.h"
#include "cli/worker_output.h"
#include "version.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace cerar::cli {

namespace {

constexpr int kSkipped = 77;  // what automake, meson and CTest take for "skipped"

struct Options {
  netlab::NetlabOptions netlab;
  std::string rate = "1Gbit";
  std::string delay;
  std::vector<std::string> events;
  bool loopback_pacing = false;
  LaunchOptions launch;
};

void print_netlab_trouble(std::string_view sentence) { fmt::print(stderr, "cerar netlab: {}\n", sentence); }

std::filesystem::path program() { return std::filesystem::read_symlink("/proc/self/exe"); }

/// Beside the program where it was built, in below the library folder where it was installed.
std::string pacing_library() {
  const std::filesystem::path folder = program().parent_path();
  const std::filesystem::path built = folder / "libcerar_pacing.so";
  return std::filesystem::exists(built) ? built : folder.parent_path() / CERAR_LIBDIR / "cerar" / "libcerar_pacing.so";
}

double parse_delay(const std::string& text) {
  for (const auto& [unit, scale] : {std::pair{"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}) {
    if (text.ends_with(unit)) {
      std::size_t used = 0;
      try {
        const double value = std::stod(text, &used);
        if (used + std::strlen(unit) == text.size()) {
          return value * scale;
        }
      } catch (const std::exception&) {
        break;
      }
    }
  }
  throw std::invalid_argument(fmt::format("'{}' is no delay; delays look like 100us or 2ms", text));
}

int run(Options& options) {
  netlab::NetlabOptions& lab = options.netlab;
  lab.bits_per_second = netlab::parse_rate(options.rate);
  if (!options.delay.empty()) {
    lab.delay_seconds = parse_delay(options.delay);
  }
  for (const std::string& event : options.events) {
    lab.events.push_back(netlab::parse_event(event, lab.hosts));
  }
  options.launch.workers = lab.hosts;
  options.launch.on_line = print_line;
  options.launch.on_trouble = print_netlab_trouble;
  try {
    if (options.loopback_pacing) {
      if (lab.once || lab.delay_seconds || !lab.events.empty()) {
        throw std::invalid_argument(
            "--once, --delay and --at need namespaces: they mean nothing with --loopback-pacing");
      }
      return netlab::run_with_loopback_pacing(lab.bits_per_second, options.launch, pacing_library());
    }
    return netlab::run_in_netlab(lab, options.launch, program().string() + " netlab-agent");
  } catch (const netlab::UnavailableError& error) {
    print_netlab_trouble(error.what());
    return kSkipped;
  }
}

/// What rsh would do: the words after the host make a command line for a shell there.
int run_on_host(const std::vector<std::string>& words) {
  // Launchers put options for rsh or ssh before the host.
  const auto host = std::ranges::find_if(words, [](const std::string& word) { return !word.starts_with('-'); });
  if (host == words.end() || host + 1 == words.end()) {
    throw Error("netlab-agent needs a host and a command");
  }
  netlab::enter_host(*host);
  const std::string line = fmt::format("{}", fmt::join(host + 1, words.end(), " "));
  execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
  throw Error(fmt::format("cannot run /bin/sh: {}", std::strerror(errno)));
}

}  // namespace

void add_netlab(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("netlab", "Run a program on a network of rate-limited hosts, all on this machine");
  command->add_option("-n,--workers", options->netlab.hosts, "How many hosts")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{250}));
  command->add_option("--rate", options->rate, "What each host can send, e.g. 100Mbit, 2.5Gbit")->capture_default_str();
  command->add_option("--mtu", options->netlab.mtu, "Bytes of an Ethernet frame's payload")
      ->check(CLI::Range(std::int64_t{576}, std::int64_t{9000}))
      ->capture_default_str();
  command->add_option("--burst", options->netlab.burst_bytes,
                      "Bytes let pass at once after a pause (default: a millisecond's, 64 KB to 512 KB)");
  command->add_option("--delay", options->delay, "Latency added to what a host sends, e.g. 2ms, where the kernel can");
  command->add_option("--congestion", options->netlab.congestion, "TCP congestion control, \"\" for the system's")
      ->capture_default_str();
  command->add_option("--at", options->events, "SECONDS:HOST:down, up or RATE: change a host's link; can be repeated")
      ->allow_extra_args(false);
  command->add_flag("--once", options->netlab.once, "Run the command once, on host 0, instead of once on every host");
  command->add_flag("--loopback-pacing", options->loopback_pacing,
                    "No namespaces: workers on the loopback whose connections are paced to the rate");
  command->add_option("command", options->launch.command, "Program and arguments, after --")->required();
  command->footer(
      "Every host has an interface of its own at one bridge. The command runs once on each, with RANK, WORLD_SIZE,\n"
      "MASTER_ADDR, MASTER_PORT and a job secret as from `cerar launch`. Nothing of it is visible outside, and all is\n"
      "gone when the program ends, however it ends. Exit status 77: this machine does not allow it.\n"
      "Example: cerar netlab --workers 4 --rate 1Gbit -- cerar bench --algorithms exact --sizes 64M");
  command->callback([options] { throw ExitStatus{run(*options)}; });

  CLI::App* agent = app.add_subcommand("netlab-agent", "What `cerar netlab --once` names in CERAR_NETLAB_AGENT");
  agent->group("");
  agent->prefix_command();
  agent->callback([agent] { throw ExitStatus{run_on_host(agent->remaining())}; });
}

}  // namespace cerar::cli
