#include "worker_agent/gateway/mpi/rank_ender.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace muster::agent {

void RankEnder::Started(uint32_t slot, pid_t pid) {
  if (pid <= 0) return;  // not known here: kill(0) would be a signal to this program's own group
  const MutexLock lock(mutex_);
  Process process;
  process.pid = pid;
  process.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.pidfd.is_open() && errno == ESRCH) return;  // its end is on its way
  if (condemned_.contains(slot)) Kill(process);
  running_[slot] = std::move(process);
}

bool RankEnder::Ended(uint32_t slot) {
  const MutexLock lock(mutex_);
  running_.erase(slot);
  return condemned_.contains(slot);
}

void RankEnder::End(uint32_t slot) {
  const MutexLock lock(mutex_);
  condemned_.insert(slot);
  const auto found = running_.find(slot);
  if (found != running_.end()) Kill(found->second);
}

void RankEnder::Kill(const Process& process) {
  if (process.pidfd.is_open()) {
    ::syscall(SYS_pidfd_send_signal, process.pidfd.get(), SIGKILL, nullptr, 0);
  } else {
    ::kill(process.pid, SIGKILL);
  }
}

}  // namespace muster::agent
