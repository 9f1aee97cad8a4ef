#include "worker_agent/gateway/mpi/rank_ender.h"

#include <signal.h>

namespace muster::agent {

void RankEnder::Started(uint32_t slot, pid_t pid) {
  const MutexLock lock(mutex_);
  running_[slot] = pid;
  if (condemned_.contains(slot)) ::kill(pid, SIGKILL);
}

void RankEnder::Ended(uint32_t slot) {
  const MutexLock lock(mutex_);
  running_.erase(slot);
}

void RankEnder::End(uint32_t slot) {
  const MutexLock lock(mutex_);
  condemned_.insert(slot);
  const auto found = running_.find(slot);
  if (found != running_.end()) ::kill(found->second, SIGKILL);
}

}  // namespace muster::agent
