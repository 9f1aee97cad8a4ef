#include "worker_agent/keeper/pid_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/unique_fd.h"
#include "common/sys/file_io.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {
namespace {

absl::Status Failed(const char* call) {
  const int error = errno;
  return absl::Status(absl::ErrnoToStatusCode(error), absl::StrCat(call, ": ", std::strerror(error)));
}

bool WriteOwn(const char* path, const std::string& text) {
  const UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  return fd.is_open() && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The pid in the innermost namespace, by the line NSpid of /proc/<pid>/status; 0: it is in none of its own.
int64_t InnermostPid(pid_t pid) {
  constexpr char kRow[] = "\nNSpid:\t";
  const absl::StatusOr<std::string> status = ReadSmallFile(absl::StrCat("/proc/", pid, "/status"), 64 * 1024);
  const size_t at = status.ok() ? status->find(kRow) : std::string::npos;
  if (at == std::string::npos) return 0;
  const size_t begin = at + sizeof(kRow) - 1;
  const std::vector<std::string> pids = absl::StrSplit(status->substr(begin, status->find('\n', begin) - begin), '\t');
  int64_t inner = 0;
  return pids.size() > 1 && absl::SimpleAtoi(pids.back(), &inner) ? inner : 0;
}

}  // namespace

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
  // Mounts that are made outside later still arrive; ours don't go out.
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return Failed("mount(MS_SLAVE)");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) return Failed("mount of /proc");
  return absl::OkStatus();
}

absl::Status TryPidNamespace() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Failed("pipe");
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return Failed("fork");
  if (child == 0) {
    absl::Status status = UnsharePids();
    const pid_t first = status.ok() ? ::fork() : 0;
    if (first < 0) status = Failed("fork");
    if (status.ok() && first == 0) status = MountOwnProc();
    if (!status.ok()) {
      [[maybe_unused]] const ssize_t n = ::write(in.get(), status.message().data(), status.message().size());
    }
    if (first > 0) ::waitpid(first, nullptr, 0);
    ::_exit(0);
  }
  in.reset();
  std::string why;
  char bytes[256];
  for (ssize_t n = 0; (n = ::read(out.get(), bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR);) {
    if (n > 0) why.append(bytes, static_cast<size_t>(n));
  }
  ::waitpid(child, nullptr, 0);
  if (why.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(why,
                   " (it needs root with CAP_SYS_ADMIN, or user namespaces: sysctl user.max_user_namespaces, "
                   "kernel.unprivileged_userns_clone; and in a container a /proc that is not masked)"));
}

pid_t OuterPidBelow(pid_t root, int64_t inner) {
  for (const ProcessInfo& process : DescendantsOf(root, {}).value_or(std::vector<ProcessInfo>())) {
    if (InnermostPid(process.pid) == inner) return process.pid;
  }
  return 0;
}

}  // namespace muster::agent
