#include "support.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {

TempFolder::TempFolder() {
  std::string name = ::testing::TempDir() + "keeper_test_XXXXXX";
  path_ = ::mkdtemp(name.data());
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ReadWholeFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

void WriteWholeFile(const std::string& path, const std::string& content) { std::ofstream(path) << content; }

Fifo::Fifo(std::string path) : path_(std::move(path)) {
  EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  // Opened for reading and writing, so that it neither blocks nor ends when a writer closes it.
  fd_.reset(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

std::string Fifo::ReadLine(int64_t bound_ms) {
  const MonotonicTime deadline = BootTime() + absl::Milliseconds(bound_ms);
  while (true) {
    if (const size_t end = rest_.find('\n'); end != std::string::npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return line;
    }
    const int64_t left_ms = absl::ToInt64Milliseconds(deadline - BootTime());
    if (left_ms <= 0) return "(nothing came)";
    pollfd ready{fd_.get(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(left_ms));
    char buffer[4096];
    const ssize_t n = ::read(fd_.get(), buffer, sizeof buffer);
    if (n > 0) rest_.append(buffer, static_cast<size_t>(n));
  }
}

void Fifo::WriteLine(const std::string& line) const {
  EXPECT_EQ(::write(fd_.get(), (line + "\n").c_str(), line.size() + 1), static_cast<ssize_t>(line.size() + 1));
}

UniqueFd Fifo::ReadPid() {
  const std::string line = ReadLine();
  const int pid = std::atoi(line.c_str());
  EXPECT_GT(pid, 0) << line;
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool EndsWithin(const UniqueFd& pidfd, int64_t bound_ms) {
  if (!pidfd.is_open()) return true;  // gone before we could look
  pollfd ended{pidfd.get(), POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(bound_ms)) == 1;
}

StreamsTo::StreamsTo(int stdout_fd, int stderr_fd)
    : saved_stdout_(::fcntl(1, F_DUPFD_CLOEXEC, 3)), saved_stderr_(::fcntl(2, F_DUPFD_CLOEXEC, 3)) {
  ::fflush(stdout);
  ::dup2(stdout_fd, 1);
  ::dup2(stderr_fd, 2);
}

StreamsTo::~StreamsTo() {
  ::fflush(stdout);
  ::dup2(saved_stdout_.get(), 1);
  ::dup2(saved_stderr_.get(), 2);
}

PipeEnds MakeTestPipe() {
  int fds[2];
  EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::string ReadToEnd(const UniqueFd& fd) {
  std::string all;
  char buffer[64 * 1024];
  pollfd ready{fd.get(), POLLIN, 0};
  while (::poll(&ready, 1, static_cast<int>(kBoundMs)) == 1) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n <= 0) return all;
    all.append(buffer, static_cast<size_t>(n));
  }
  return all + "(no end came)";
}

HeldAtExit::HeldAtExit(pid_t pid) {
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXIT) == 0) pid_ = pid;
}

HeldAtExit::~HeldAtExit() { Release(); }

// Call this when the process is at its exit. Its tracer reaps it first, then its parent.
void HeldAtExit::Release() {
  const pid_t pid = std::exchange(pid_, 0);
  if (pid == 0) return;
  int status = 0;
  if (::waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) return;
  ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
}

ProcessSpec Command(uint32_t slot, std::vector<std::string> argv) {
  ProcessSpec spec;
  spec.key = {slot, 1, 0};
  spec.argv = std::move(argv);
  spec.env = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"};
  return spec;
}

TestKeeper::TestKeeper(KeeperOptions options) {
  auto keeper = Keeper::Spawn(options);
  EXPECT_TRUE(keeper.ok()) << keeper.status();
  keeper_ = *std::move(keeper);
}

void TestKeeper::StartShell(uint32_t slot, const std::string& script, const std::function<void(ProcessSpec&)>& change) {
  ProcessSpec spec = Command(slot, {"sh", "-c", script});
  if (change) change(spec);
  keeper_->Start(spec);
}

bool TestKeeper::WaitUntil(const std::function<bool()>& find) {
  const MonotonicTime deadline = BootTime() + absl::Milliseconds(kBoundMs);
  while (!find()) {
    const int64_t left_ms = absl::ToInt64Milliseconds(deadline - BootTime());
    if (left_ms <= 0) return false;
    pollfd ready{keeper_->fd(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(std::min(left_ms, absl::ToInt64Milliseconds(Keeper::kPollInterval))));
    for (KeeperEvent& event : keeper_->Poll()) events_.push_back(std::move(event));
  }
  return true;
}

Started TestKeeper::WaitStarted(uint32_t slot) {
  Started found;
  EXPECT_TRUE(WaitUntil([&] {
    for (const KeeperEvent& event : events_) {
      const auto* started = std::get_if<Started>(&event);
      if (started != nullptr && started->key.slot == slot) return found = *started, true;
    }
    return false;
  })) << "slot "
      << slot << " was not reported as started";
  return found;
}

Ended TestKeeper::WaitEnded(uint32_t slot) {
  Ended found;
  found.end.exit.code = -1;
  EXPECT_TRUE(WaitUntil([&] {
    for (const KeeperEvent& event : events_) {
      const auto* ended = std::get_if<Ended>(&event);
      if (ended != nullptr && ended->key.slot == slot) return found = *ended, true;
    }
    return false;
  })) << "slot "
      << slot << " was not reported as ended";
  return found;
}

template <typename Wanted>
bool TestKeeper::WaitFor() {
  return WaitUntil([&] {
    return std::any_of(events_.begin(), events_.end(),
                       [](const KeeperEvent& event) { return std::holds_alternative<Wanted>(event); });
  });
}

Unkillable TestKeeper::WaitUnkillable(uint32_t slot) {
  Unkillable found;
  EXPECT_TRUE(WaitUntil([&] {
    for (const KeeperEvent& event : events_) {
      const auto* left = std::get_if<Unkillable>(&event);
      if (left != nullptr && left->key.slot == slot) return found = *left, true;
    }
    return false;
  })) << "nothing of slot "
      << slot << " was reported as unkillable";
  return found;
}

bool TestKeeper::WaitCleared() { return WaitFor<Cleared>(); }
bool TestKeeper::WaitFenceFell() { return WaitFor<FenceFell>(); }
bool TestKeeper::WaitLost() { return WaitFor<KeeperLost>(); }
bool TestKeeper::WaitSilent() { return WaitFor<KeeperSilent>(); }
bool TestKeeper::WaitAnswers() { return WaitFor<KeeperAnswers>(); }

std::vector<ProcessInfo> AllBelow(pid_t root) {
  std::optional<std::vector<ProcessInfo>> found = DescendantsOf(root, {});
  EXPECT_TRUE(found.has_value()) << "/proc can't be looked at";
  return std::move(found).value_or(std::vector<ProcessInfo>());
}

std::vector<pid_t> NamedBelow(pid_t root, const std::string& name) {
  std::vector<pid_t> found;
  for (const ProcessInfo& process : AllBelow(root)) {
    if (ReadWholeFile(absl::StrCat("/proc/", process.pid, "/comm")) == name + "\n") found.push_back(process.pid);
  }
  return found;
}

std::vector<pid_t> HelpersNamed(const std::string& name) { return NamedBelow(::getpid(), name); }

void SignalAll(const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids) ::kill(pid, signal);
}

}  // namespace muster::agent
