#include "worker_agent/keeper/process/children.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {
namespace {

// Returns true if /proc is that of our pid namespace. Another one shows other processes under our pids.
bool IsProcOurs() {
  char link[32] = {};
  return ::readlink("/proc/self", link, sizeof link - 1) > 0 && std::atoi(link) == ::getpid();
}

}  // namespace

Children Children::OfThisProcess(bool may_use_list) {
  Children children;
  children.may_use_list_ = may_use_list;
  if (!IsProcOurs()) return children;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", static_cast<int>(::getpid()));
  if (may_use_list) children.list_.reset(::open(path, O_RDONLY | O_CLOEXEC));
  if (children.list_.is_open()) return children;
  children.proc_.reset(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  children.spare_.reset(::fcntl(children.proc_.get(), F_DUPFD_CLOEXEC, 3));
  return children;
}

bool Children::ForEach(absl::FunctionRef<void(pid_t)> visit) {
  if (!CanLook()) *this = OfThisProcess(may_use_list_);  // at the start no descriptor was free
  if (list_.is_open()) return ForEachInList(visit);
  if (proc_.is_open()) return ForEachInProc(visit);
  errno = ENOENT;
  return false;
}

bool Children::Kill(absl::FunctionRef<bool(pid_t)> is_spared) {
  return ForEach([&](pid_t child) {
    if (!is_spared(child)) ::kill(child, SIGKILL);
  });
}

bool Children::ForEachInList(absl::FunctionRef<void(pid_t)> visit) {
  if (::lseek(list_.get(), 0, SEEK_SET) != 0) return false;
  char buffer[4096];
  pid_t pid = 0;  // the file has numbers, each followed by a blank; the buffer's end may cut one
  while (true) {
    const ssize_t n = ::read(list_.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    for (ssize_t i = 0; i < n; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        pid = pid * 10 + (buffer[i] - '0');
      } else if (pid != 0) {
        visit(pid);
        pid = 0;
      }
    }
    if (n == 0) return true;
  }
}

pid_t Children::ParentOf(const char* pid) {
  char path[32];
  std::snprintf(path, sizeof path, "%.20s/stat", pid);
  int fd = ::openat(proc_.get(), path, O_RDONLY | O_CLOEXEC);
  const bool uses_spare = fd < 0 && (errno == EMFILE || errno == ENFILE) && spare_.is_open();
  if (uses_spare) {
    spare_.reset();
    fd = ::openat(proc_.get(), path, O_RDONLY | O_CLOEXEC);
  }
  char buffer[1024];
  const ssize_t n = fd < 0 ? -1 : ::read(fd, buffer, sizeof buffer);
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (uses_spare) spare_.reset(::fcntl(proc_.get(), F_DUPFD_CLOEXEC, 3));
  errno = error;
  if (n < 0) return error == ENOENT || error == ESRCH || error == EACCES || error == EPERM ? 0 : -1;
  const std::optional<ProcessInfo> info = ParseProcStat(std::string_view(buffer, static_cast<size_t>(n)));
  return info ? info->parent : 0;
}

bool Children::ForEachInProc(absl::FunctionRef<void(pid_t)> visit) {
  struct Entry {  // the kernel's layout: getdents(2)
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
  };
  if (::lseek(proc_.get(), 0, SEEK_SET) != 0) return false;
  alignas(Entry) char buffer[8192];
  const pid_t self = ::getpid();
  while (true) {
    const long n = ::syscall(SYS_getdents64, proc_.get(), buffer, sizeof buffer);
    if (n < 0) return false;
    if (n == 0) return true;
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->length;
      pid_t pid = 0;
      const char* end = entry->name + std::strlen(entry->name);
      if (const auto parsed = std::from_chars(entry->name, end, pid); parsed.ec != std::errc() || parsed.ptr != end) {
        continue;
      }
      const pid_t parent = ParentOf(entry->name);
      if (parent < 0) return false;
      if (parent == self) visit(pid);
    }
  }
}

}  // namespace muster::agent
