#include "worker_agent/keeper/pid_namespace.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/unique_fd.h"
#include "common/sys/wait.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);

absl::Status Failed(const char* call) {
  const int error = errno;
  return absl::Status(absl::ErrnoToStatusCode(error), absl::StrCat(call, ": ", std::strerror(error)));
}

bool WriteOwn(const char* path, const std::string& text) {
  const UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  return fd.is_open() && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Returns the process's pid in each namespace, this process's own first.
std::vector<int64_t> PidsOf(pid_t pid) {
  std::vector<int64_t> pids;
  for (const absl::string_view word : absl::StrSplit(StatusRow(pid, "NSpid"), '\t', absl::SkipEmpty())) {
    int64_t number = 0;
    if (absl::SimpleAtoi(word, &number)) pids.push_back(number);
  }
  return pids;
}

absl::Status UnsharePids() {
  if (::unshare(CLONE_NEWPID) == 0) return absl::OkStatus();
  if (errno != EPERM) return Failed("unshare(CLONE_NEWPID)");
  const std::string user = absl::StrCat(::geteuid(), " ", ::geteuid(), " 1\n");
  const std::string group = absl::StrCat(::getegid(), " ", ::getegid(), " 1\n");
  if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return Failed("unshare(CLONE_NEWUSER | CLONE_NEWPID)");
  if (!WriteOwn("/proc/self/setgroups", "deny")) return Failed("/proc/self/setgroups");
  if (!WriteOwn("/proc/self/uid_map", user)) return Failed("/proc/self/uid_map");
  if (!WriteOwn("/proc/self/gid_map", group)) return Failed("/proc/self/gid_map");
  return absl::OkStatus();
}

absl::Status MountOwnProc() {
  if (::unshare(CLONE_NEWNS) != 0) return Failed("unshare(CLONE_NEWNS)");
  // MS_SLAVE: mounts that are made outside later still appear here, but our mounts don't appear outside.
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return Failed("mount(MS_SLAVE)");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) return Failed("mount of /proc");
  return absl::OkStatus();
}

// Returns what the first process writes into the pipe before it closes its end, or an error text if that takes longer
// than kPatience.
std::string ReadWhy(int fd) {
  std::string why;
  char bytes[256];
  pollfd ready{fd, POLLIN, 0};
  while (true) {
    const int count = ::poll(&ready, 1, PollMs(kPatience));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return "the mount of /proc takes too long: a file system hangs";
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n <= 0) return why;
    why.append(bytes, static_cast<size_t>(n));
  }
}

}  // namespace

void PidIsolation::Begin() {
  int ends[2];
  absl::Status status = ::pipe2(ends, O_CLOEXEC) == 0 ? absl::OkStatus() : Failed("pipe");
  if (status.ok()) {
    out_.reset(ends[0]);
    in_.reset(ends[1]);
    status = UnsharePids();
  }
  why_ = std::string(status.message());
}

void PidIsolation::EndInFirstProcess() {
  const absl::Status status = MountOwnProc();
  if (!status.ok()) {
    [[maybe_unused]] const ssize_t n = ::write(in_.get(), status.message().data(), status.message().size());
    ::_exit(1);
  }
  in_.reset();
  out_.reset();
}

void PidIsolation::AwaitFirstProcess() {
  in_.reset();
  why_ = ReadWhy(out_.get());
  out_.reset();
}

pid_t OuterPidBelow(pid_t root, int64_t inner) {
  size_t level = 0;  // how deep the keeper's namespace is nested; 0: not known yet
  for (const ProcessInfo& process : DescendantsOf(root, {}).value_or(std::vector<ProcessInfo>())) {
    const std::vector<int64_t> pids = PidsOf(process.pid);
    if (level == 0 && pids.size() > 1) level = pids.size() - 1;
    if (level > 0 && pids.size() > level && pids[level] == inner) return process.pid;
  }
  return 0;
}

}  // namespace muster::agent
