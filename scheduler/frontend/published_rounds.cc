#include "scheduler/frontend/published_rounds.h"

namespace muster::scheduler {

void PublishedRounds::Publish(const std::string& job_id, uint64_t run, uint32_t round, PeerList peers) {
  MutexLock lock(mutex_);
  auto& rounds = runs_[{job_id, run}];
  rounds[round] = std::move(peers);
  while (rounds.size() > kKeptRounds) rounds.erase(rounds.begin());
}

void PublishedRounds::Forget(const std::string& job_id, uint64_t run) {
  MutexLock lock(mutex_);
  runs_.erase({job_id, run});
}

PublishedRounds::PeerList PublishedRounds::Find(const std::string& job_id, uint64_t run, uint32_t round) const {
  MutexLock lock(mutex_);
  const auto found_run = runs_.find({job_id, run});
  if (found_run == runs_.end()) return nullptr;
  const auto found = found_run->second.find(round);
  return found == found_run->second.end() ? nullptr : found->second;
}

}  // namespace muster::scheduler
