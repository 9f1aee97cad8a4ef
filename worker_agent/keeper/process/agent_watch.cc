#include "worker_agent/keeper/process/agent_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/sys/wait.h"

namespace muster::agent {
namespace {

// <linux/pidfd.h> of Linux 6.15; older headers lack it.
struct PidfdInfo {
  uint64_t mask = 0;
  uint64_t cgroup_id = 0;
  uint32_t pid = 0, tgid = 0, ppid = 0;
  uint32_t ruid = 0, rgid = 0, euid = 0, egid = 0, suid = 0, sgid = 0, fsuid = 0, fsgid = 0;
  int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kPidfdInfoExit = uint64_t{1} << 3;
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);

}  // namespace

AgentWatch AgentWatch::OfThisProcess() {
  AgentWatch watch;
  watch.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  watch.stat_.reset(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  return watch;
}

bool AgentWatch::IsDead() const {
  if (pidfd_.is_open()) return LookAt(pidfd_.get(), POLLIN) != 0;
  char byte = 0;
  const bool is_reaped = ::pread(stat_.get(), &byte, 1, 0) < 0 && errno == ESRCH;
  return is_reaped || ReadFate().has_value();
}

std::optional<ExitStatus> AgentWatch::ReadFate() const {
  PidfdInfo info;
  info.mask = kPidfdInfoExit;
  if (pidfd_.is_open() && ::ioctl(pidfd_.get(), kPidfdGetInfo, &info) == 0 && (info.mask & kPidfdInfoExit) != 0) {
    return ExitStatus::FromWaitStatus(info.exit_code);
  }
  char buffer[1024];
  const ssize_t n = ::pread(stat_.get(), buffer, sizeof buffer, 0);
  if (n <= 0) return std::nullopt;
  // The state follows the command's closing parenthesis; the wait status is the last of the 52 fields.
  std::string text(buffer, static_cast<size_t>(n));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t name_end = text.rfind(") ");
  const size_t last = text.rfind(' ');
  if (name_end == std::string::npos || last <= name_end + 2) return std::nullopt;
  const int status = std::atoi(text.c_str() + last);
  const char state = text[name_end + 2];
  if (state != 'Z' && state != 'X' && status == 0) return std::nullopt;  // it lives
  return ExitStatus::FromWaitStatus(status);
}

}  // namespace muster::agent
