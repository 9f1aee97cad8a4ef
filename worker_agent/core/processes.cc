#include "worker_agent/core/processes.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace muster::agent {

void Processes::Launched(const ProcessKey& id, uint32_t rank) {
  MUSTER_CHECK(!WasLaunched(id), "a process is started once");
  MUSTER_CHECK(!IsSlotTaken(id.slot), "a slot has one process at a time");
  running_.insert(id);
  unconfirmed_.insert(id);
  launched_[id.slot] = {id.round, id.attempt, rank};
  ended_well_.erase(id.slot);
  std::erase_if(failures_, [&](const Failure& f) { return f.id.slot == id.slot || f.id.round < id.round; });
}

bool Processes::MarkStarted(const ProcessKey& id, uint64_t pid) {
  unconfirmed_.erase(id);
  if (!running_.contains(id)) return false;
  pids_[id.slot] = pid;
  return true;
}

bool Processes::MarkEnded(const ProcessKey& id, const ProcessEnd& end, bool leaves_some) {
  if (running_.erase(id) == 0) return false;
  leaves_some ? void(left_.insert(id)) : void(stuck_.erase(id));
  unconfirmed_.erase(id);
  pids_.erase(id.slot);
  if (end.IsSuccess()) {
    // A stopped process may end with 0 without being done: it has saved its state.
    if (!end.was_stopped) ended_well_.insert(id.slot);
  } else if (!end.was_stopped) {
    failures_.push_back({id, end.exit.AsExitCode()});
  }
  return true;
}

bool Processes::MarkCleared(const ProcessKey& id) {
  if (left_.erase(id) == 0) return false;
  stuck_.erase(id);
  return true;
}

void Processes::MarkAllCleared() {
  for (const ProcessKey& id : std::exchange(left_, {})) stuck_.erase(id);
}

bool Processes::MarkStuck(const ProcessKey& id, StuckProcess stuck) {
  if (!running_.contains(id) && !left_.contains(id)) return false;
  stuck_[id] = std::move(stuck);
  return true;
}

bool Processes::IsSlotTaken(uint32_t slot) const {
  const auto is_of_slot = [&](const ProcessKey& id) { return id.slot == slot; };
  return std::any_of(running_.begin(), running_.end(), is_of_slot) || IsSlotHeldUp(slot);
}

bool Processes::IsSlotHeldUp(uint32_t slot) const {
  return std::any_of(left_.begin(), left_.end(), [&](const ProcessKey& id) { return id.slot == slot; });
}

bool Processes::IsAllStuck() const { return IsAnyLeft() && stuck_.size() == running_.size() + left_.size(); }

uint64_t Processes::PidOf(uint32_t slot) const {
  const auto found = pids_.find(slot);
  return found == pids_.end() ? 0 : found->second;
}

bool Processes::IsAnyLeftOutside(uint32_t round) const {
  const auto is_outside = [&](const ProcessKey& id) { return id.round != round; };
  return std::any_of(running_.begin(), running_.end(), is_outside) ||
         std::any_of(left_.begin(), left_.end(), is_outside);
}

bool Processes::WasLaunched(const ProcessKey& id) const {
  const auto found = launched_.find(id.slot);
  if (found == launched_.end()) return false;
  return std::pair(found->second.round, found->second.attempt) >= std::pair(id.round, id.attempt);
}

std::vector<ProcessKey> Processes::Unconfirmed(uint32_t round) const {
  std::vector<ProcessKey> ids;
  for (const ProcessKey& id : unconfirmed_) {
    if (id.round == round) ids.push_back(id);
  }
  return ids;
}

std::optional<int> Processes::FirstFailure() const {
  if (failures_.empty()) return std::nullopt;
  return failures_.front().exit_code;
}

bool Processes::HaveAllEndedWell() const {
  return running_.empty() && !launched_.empty() && ended_well_.size() == launched_.size();
}

void Processes::CheckInvariants() const {
  std::set<uint32_t> slots;
  std::set<ProcessKey> all = running_;
  all.insert(left_.begin(), left_.end());
  MUSTER_CHECK(all.size() == running_.size() + left_.size(), "a dead process does not run");
  for (const ProcessKey& id : all) {
    MUSTER_CHECK(slots.insert(id.slot).second, "a slot has one process at a time, or what it left");
    MUSTER_CHECK(WasLaunched(id), "each running process was launched");
    MUSTER_CHECK(id.round == all.begin()->round, "all processes are of one round");
  }
  for (const auto& [id, stuck] : stuck_) MUSTER_CHECK(all.contains(id), "each stuck process is still there");
  for (const auto& [slot, pid] : pids_) MUSTER_CHECK(slots.contains(slot), "a pid is that of a running process");
}

}  // namespace muster::agent
