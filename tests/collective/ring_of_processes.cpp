#include "tests/collective/ring_of_processes.h"

#include "collective/socket.h"

#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cerar::testing {

namespace {

using Clock = std::chrono::steady_clock;

void write_all(int file, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t wrote = write(file, next, size);
    if (wrote <= 0) {
      _exit(99);
    }
    next += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
}

void write_sized(int file, const void* data, std::size_t size) {
  const std::uint64_t length = size;
  write_all(file, &length, sizeof length);
  write_all(file, data, size);
}

std::string read_sized(int file) {
  std::uint64_t length = 0;
  if (read(file, &length, sizeof length) != static_cast<ssize_t>(sizeof length)) {
    return {};
  }
  std::string bytes(length, '\0');
  std::size_t got = 0;
  while (got < length) {
    const ssize_t more = read(file, bytes.data() + got, length - got);
    if (more <= 0) {
      break;
    }
    got += static_cast<std::size_t>(more);
  }
  return bytes;
}

[[noreturn]] void run_rank(CommunicatorOptions options, const std::function<void(CommunicatorOptions&)>& adjust,
                           const RankBody& body, int report) {
  RankResult result;
  try {
    if (adjust) {
      adjust(options);
    }
    Communicator communicator(options);
    try {
      result.values = body(communicator);
    } catch (const std::exception& error) {
      result.status = 1;
      result.error = error.what();
    }
    result.statistics = communicator.statistics();
  } catch (const std::exception& error) {
    result.status = 1;
    result.error = error.what();
  }
  write_sized(report, result.error.data(), result.error.size());
  write_sized(report, result.values.data(), result.values.size() * sizeof(float));
  write_sized(report, &result.statistics, sizeof result.statistics);
  _exit(result.status);
}

RankResult read_report(int report) {
  RankResult result;
  lseek(report, 0, SEEK_SET);
  result.error = read_sized(report);
  const std::string values = read_sized(report);
  result.values.resize(values.size() / sizeof(float));
  std::memcpy(result.values.data(), values.data(), values.size());
  const std::string statistics = read_sized(report);
  if (statistics.size() == sizeof result.statistics) {
    std::memcpy(&result.statistics, statistics.data(), statistics.size());
  }
  return result;
}

}  // namespace

std::vector<RankResult> run_ring(std::int64_t workers, const RankBody& body,
                                 const std::function<void(CommunicatorOptions&)>& adjust) {
  CommunicatorOptions options;
  options.size = workers;
  options.master_port = free_port();
  options.secret = "the ring of the tests";
  options.timeout_seconds = 20;
  const auto start = Clock::now();
  std::map<pid_t, std::size_t> children;
  std::vector<int> reports;
  for (std::int64_t rank = 0; rank < workers; ++rank) {
    options.rank = rank;
    reports.push_back(memfd_create("rank", MFD_CLOEXEC));
    const pid_t child = fork();
    if (child == 0) {
      run_rank(options, adjust, body, reports.back());
    }
    children[child] = static_cast<std::size_t>(rank);
  }
  std::vector<RankResult> results(children.size());
  while (!children.empty()) {
    int state = 0;
    const pid_t child = waitpid(-1, &state, 0);
    const auto found = children.find(child);
    if (found == children.end()) {
      continue;
    }
    RankResult& result = results[found->second];
    result = read_report(reports[found->second]);
    result.status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    children.erase(found);
  }
  for (const int report : reports) {
    close(report);
  }
  return results;
}

std::vector<float> gradient_of(std::int64_t rank, std::size_t values, std::uint64_t seed) {
  std::mt19937_64 generator(seed * 1000003 + static_cast<std::uint64_t>(rank));
  // The sum of four uniform numbers, scaled to unit variance: near enough to normal, and the same on every platform.
  const auto uniform = [&] { return static_cast<double>(generator() >> 11) * 0x1p-53 - 0.5; };
  std::vector<float> result(values);
  for (float& value : result) {
    const double sum = uniform() + uniform() + uniform() + uniform();
    value = static_cast<float>(sum * 1.7320508075688772);
  }
  return result;
}

std::uint16_t free_port() { return local_endpoint(listen_on({"127.0.0.1", 0})).port; }

}  // namespace cerar::testing
