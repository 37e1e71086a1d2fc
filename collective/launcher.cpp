#include "collective/launcher.h"

#include "coding/error.h"
#include "collective/deadline.h"
#include "collective/socket.h"

#include <fmt/core.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace cerar {

namespace {

/// A failed worker's fellows need a little longer than this to learn the cause and say it (collective/control.cpp).
constexpr double kLastWordsSeconds = 5;
constexpr double kTerminateSeconds = 3;
/// Tools such as timeout(1) signal a process and its group: what comes within this time is one request.
constexpr double kSameRequestSeconds = 1;
constexpr std::size_t kLongestLine = 1 << 16;
/// Of 64 KiB each, more than a pipe holds.
constexpr int kLastReads = 32;

std::string random_hex(std::size_t bytes) {
  if (sodium_init() < 0) {
    throw Error("libsodium could not start: the system offers no random numbers");
  }
  std::vector<unsigned char> random(bytes);
  randombytes_buf(random.data(), random.size());
  std::string hex(2 * bytes + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), random.data(), random.size());
  hex.pop_back();
  return hex;
}

std::uint16_t free_port() { return local_endpoint(listen_on({"127.0.0.1", 0})).port; }

std::array<Socket, 2> open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(fmt::format("cannot open a pipe to a worker: {}", std::strerror(errno)));
  }
  return {Socket(ends[0]), Socket(ends[1])};
}

/// One end of a worker's output: collects bytes, hands on lines.
class LineReader {
 public:
  LineReader(Socket end, std::int64_t rank, bool is_error) : end_(std::move(end)), rank_(rank), is_error_(is_error) {
    fcntl(end_.descriptor(), F_SETFL, O_NONBLOCK);
  }

  [[nodiscard]] int descriptor() const noexcept { return end_.descriptor(); }

  /// Reads once what is there: a worker that prints faster than it is read must not keep the launcher from its other
  /// work. Closes at the end of the stream.
  /// @return whether there may be more
  template <class OnLine>
  bool read_some(const OnLine& on_line) {
    std::array<char, 1 << 16> buffer;
    if (end_.is_open()) {
      const ssize_t got = read(end_.descriptor(), buffer.data(), buffer.size());
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
      }
      if (got <= 0) {
        finish(on_line);
        return false;
      }
      text_.append(buffer.data(), static_cast<std::size_t>(got));
      for (auto newline = text_.find('\n'); newline != std::string::npos; newline = text_.find('\n')) {
        on_line(rank_, is_error_, std::string_view(text_).substr(0, newline));
        text_.erase(0, newline + 1);
      }
      if (text_.size() > kLongestLine) {
        on_line(rank_, is_error_, text_);
        text_.clear();
      }
      return true;
    }
    return false;
  }

  template <class OnLine>
  void finish(const OnLine& on_line) {
    if (!text_.empty()) {
      on_line(rank_, is_error_, text_);
      text_.clear();
    }
    end_.close();
  }

 private:
  Socket end_;
  std::int64_t rank_;
  bool is_error_;
  std::string text_;
};

/// The signals this launcher waits for instead of being interrupted by; the old mask comes back at the end.
class SignalQueue {
 public:
  SignalQueue() {
    sigemptyset(&mask_);
    // What was ignored on entry stays ignored, SIGHUP under nohup for one; but an ignored SIGCHLD would reap the
    // workers behind our back.
    signal(SIGCHLD, SIG_DFL);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
      struct sigaction before {};
      sigaction(number, nullptr, &before);
      if (before.sa_handler != SIG_IGN) {
        sigaddset(&mask_, number);
      }
    }
    sigprocmask(SIG_BLOCK, &mask_, &before_);
    queue_ = Socket(signalfd(-1, &mask_, SFD_NONBLOCK | SFD_CLOEXEC));
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  ~SignalQueue() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] int descriptor() const noexcept { return queue_.descriptor(); }
  [[nodiscard]] const sigset_t& mask_before() const noexcept { return before_; }

  [[nodiscard]] std::optional<int> next() const {
    signalfd_siginfo info{};
    if (read(queue_.descriptor(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
      return std::nullopt;
    }
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t mask_{};
  sigset_t before_{};
  Socket queue_;
};

class Group {
 public:
  explicit Group(const LaunchOptions& options) : options_(options) {
    if (!options.without_ranks) {
      describe_job();
    }
    // Workers share this host's cores: one thread each unless the user says otherwise, as torchrun does.
    if (std::getenv("OMP_NUM_THREADS") == nullptr) {
      base_.emplace("OMP_NUM_THREADS", "1");
    }
    for (const auto& [name, value] : options.environment) {
      base_.insert_or_assign(name, value);
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() { kill_all(SIGKILL); }

  int run() {
    for (std::int64_t rank = 0; rank < options_.workers; ++rank) {
      start(rank);
    }
    while (!running_.empty()) {
      wait_for_news();
      while (const auto signal = signals_.next()) {
        if (*signal != SIGCHLD) {
          interrupt(*signal);
        }
      }
      reap();
      escalate();
    }
    for (LineReader& reader : readers_) {
      // What the pipe holds and no more: a worker's own children may hold it open and go on printing.
      for (int reads = 0; reads < kLastReads && reader.read_some(options_.on_line); ++reads) {
      }
      reader.finish(options_.on_line);
    }
    conclude();
    return status_;
  }

 private:
  void describe_job() {
    base_ = {{"WORLD_SIZE", std::to_string(options_.workers)},
             {"LOCAL_WORLD_SIZE", std::to_string(options_.hosts ? 1 : options_.workers)},
             {"MASTER_ADDR", options_.hosts ? options_.hosts->master_host : "127.0.0.1"},
             {"MASTER_PORT", std::to_string(options_.master_port != 0 ? options_.master_port : free_port())},
             {"TORCHELASTIC_RUN_ID", random_hex(8)},
             {"CERAR_SECRET", random_hex(32)}};
  }

  void start(std::int64_t rank) {
    const bool inherits = rank == 0 && options_.rank_0_inherits_output;
    auto [out_read, out_write] = open_pipe();
    auto [error_read, error_write] = open_pipe();
    auto [exec_read, exec_write] = open_pipe();

    // Everything that allocates happens before the fork.
    auto variables = base_;
    if (!options_.without_ranks) {
      variables["RANK"] = std::to_string(rank);
      variables["LOCAL_RANK"] = std::to_string(options_.hosts ? 0 : rank);
    }
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      if (!variables.contains(std::string(text.substr(0, text.find('='))))) {
        environment.emplace_back(text);
      }
    }
    for (const auto& [name, value] : variables) {
      environment.push_back(fmt::format("{}={}", name, value));
    }
    std::vector<char*> environment_pointers = pointers(environment);
    std::vector<std::string> command = options_.command;
    std::vector<char*> command_pointers = pointers(command);

    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
      throw Error(fmt::format("cannot start worker {}: {}", rank, std::strerror(errno)));
    }
    if (child == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      sigprocmask(SIG_SETMASK, &signals_.mask_before(), nullptr);
      const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
      dup2(nothing, STDIN_FILENO);
      if (!inherits) {
        dup2(out_write.descriptor(), STDOUT_FILENO);
        dup2(error_write.descriptor(), STDERR_FILENO);
      }
      if (getppid() == parent && (!options_.hosts || options_.hosts->enter(rank))) {
        execvpe(command_pointers[0], command_pointers.data(), environment_pointers.data());
      }
      const int reason = errno;
      [[maybe_unused]] const ssize_t told = write(exec_write.descriptor(), &reason, sizeof reason);
      _exit(127);
    }
    setpgid(child, child);
    running_[child] = rank;
    exec_write.close();
    int reason = 0;
    if (read(exec_read.descriptor(), &reason, sizeof reason) == static_cast<ssize_t>(sizeof reason)) {
      throw Error(fmt::format("cannot run '{}': {}", options_.command.front(), std::strerror(reason)));
    }
    if (!inherits) {
      readers_.emplace_back(std::move(out_read), rank, false);
      readers_.emplace_back(std::move(error_read), rank, true);
    }
  }

  static std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (std::string& string : strings) {
      result.push_back(string.data());
    }
    result.push_back(nullptr);
    return result;
  }

  void wait_for_news() {
    std::vector<pollfd> entries = {{signals_.descriptor(), POLLIN, 0}};
    for (const LineReader& reader : readers_) {
      entries.push_back({reader.descriptor(), POLLIN, 0});
    }
    poll(entries.data(), entries.size(), next_step_ ? next_step_->poll_milliseconds() : -1);
    for (LineReader& reader : readers_) {
      reader.read_some(options_.on_line);
    }
  }

  /// A worker that has ended, and the status a shell would give.
  struct End {
    std::int64_t rank;
    int status;
    int signal;  ///< that ended it, or 0
  };

  void reap() {
    for (auto worker = running_.begin(); worker != running_.end();) {
      int state = 0;
      if (waitpid(worker->first, &state, WNOHANG) == 0) {
        ++worker;
        continue;
      }
      const int signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
      const End end{worker->second, signal != 0 ? 128 + signal : WEXITSTATUS(state), signal};
      worker = running_.erase(worker);
      if (end.status != 0 && !concluded_) {
        failures_.push_back(end);
        next_step_ = next_step_ ? next_step_ : Deadline(kLastWordsSeconds);
      }
    }
  }

  /// Settles which worker failed first, as far as it can be told: a killed worker's memory is taken down after its
  /// connections, so those that fail in consequence may end before it. Later ends are this launcher's doing.
  void conclude() {
    if (concluded_) {
      return;
    }
    concluded_ = true;
    if (failures_.empty()) {
      return;
    }
    const auto killed = std::ranges::find_if(failures_, [](const End& end) { return end.signal != 0; });
    const End& first = killed == failures_.end() ? failures_.front() : *killed;
    status_ = first.status;
    if (!interrupted_) {
      options_.on_trouble(first.signal != 0 ? fmt::format("worker {} was ended by signal {} ({})", first.rank,
                                                          first.signal, strsignal(first.signal))
                                            : fmt::format("worker {} ended with status {}", first.rank, first.status));
    }
  }

  void interrupt(int signal) {
    if (!interrupted_) {
      interrupted_ = Deadline(kSameRequestSeconds);
      kill_all(signal);
      next_step_ = Deadline(kLastWordsSeconds);
    } else if (interrupted_->passed()) {
      kill_all(SIGKILL);  // asked again: no more patience
    }
  }

  void escalate() {
    if (!next_step_ || !next_step_->passed()) {
      return;
    }
    if (!interrupted_) {
      conclude();
    }
    kill_all(terminated_ ? SIGKILL : SIGTERM);
    terminated_ = true;
    next_step_ = Deadline(kTerminateSeconds);
  }

  void kill_all(int signal) const {
    for (const auto& [child, rank] : running_) {
      kill(-child, signal);
    }
  }

  const LaunchOptions& options_;
  SignalQueue signals_;
  std::map<std::string, std::string> base_;
  std::map<pid_t, std::int64_t> running_;
  std::vector<LineReader> readers_;
  std::vector<End> failures_;  ///< until concluded_
  bool concluded_ = false;
  int status_ = 0;                       ///< of the first worker that failed
  std::optional<Deadline> next_step_;    ///< when the remaining workers are to be ended more firmly
  std::optional<Deadline> interrupted_;  ///< since the first signal to end; passed once another is a new request
  bool terminated_ = false;
};

}  // namespace

int launch(const LaunchOptions& options) {
  if (options.workers < 1 || options.command.empty()) {
    throw Error(fmt::format("cannot launch {} workers of {}; at least 1 worker and a program are needed",
                            options.workers, options.command.empty() ? "nothing" : options.command.front()));
  }
  return Group(options).run();
}

}  // namespace cerar
