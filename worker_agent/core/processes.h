// The processes that this agent has started: those that run, those that have left something, and those that failed.
//
// A process runs, then it has died. Processes that it started may be left, and are being killed; then it is cleared. A
// slot is free, and the node has no processes, when nothing runs and nothing is left.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "worker_agent/core/process_end.h"
#include "worker_agent/core/process_key.h"

namespace muster::agent {

// A process that was sent SIGKILL and is still there.
struct StuckProcess {
  uint64_t pid = 0;
  std::string name;
  std::string state;
  MonotonicTime since;
};

class Processes {
 public:
  // Counts as running from here on. The causes of the slot's earlier ends no longer matter.
  void Launched(const ProcessKey& id, uint32_t rank);
  // Its ProcessStarted came: it is no launch failure any more.
  bool MarkStarted(const ProcessKey& id, uint64_t pid);
  // False when it was not running: a repetition, or nothing of ours.
  bool MarkEnded(const ProcessKey& id, const ProcessEnd& end, bool leaves_some = false);
  // False when it had left nothing.
  bool MarkCleared(const ProcessKey& id);
  void MarkAllCleared();
  // False when nothing of it is there, as far as is known.
  bool MarkStuck(const ProcessKey& id, StuckProcess stuck);

  // True if any process runs or is left.
  bool IsAnyLeft() const { return !running_.empty() || !left_.empty(); }
  bool IsAnyRunning() const { return !running_.empty(); }
  bool IsRunning(const ProcessKey& id) const { return running_.contains(id); }
  // True if a process runs in the slot, or something of one is left.
  bool IsSlotTaken(uint32_t slot) const;
  // True if the slot's last process has died and left something.
  bool IsSlotHeldUp(uint32_t slot) const;
  // The pid of the process that runs in the slot; 0 when there is none or it is not known yet.
  uint64_t PidOf(uint32_t slot) const;
  // The rank of the slot's last start.
  uint32_t RankOf(uint32_t slot) const { return launched_.at(slot).rank; }
  bool IsAnyLeftOutside(uint32_t round) const;
  // Something was sent SIGKILL and is still there.
  bool HasSurvivors() const { return !left_.empty() || !stuck_.empty(); }
  // Something is left, and it has been found that none of it can be killed.
  bool IsAllStuck() const;
  const std::map<ProcessKey, StuckProcess>& Stuck() const { return stuck_; }
  // This or a later start of the slot has been made.
  bool WasLaunched(const ProcessKey& id) const;
  bool WasAnyLaunched() const { return !launched_.empty(); }

  std::vector<ProcessKey> Running() const { return {running_.begin(), running_.end()}; }
  // Processes that have died and left something.
  const std::set<ProcessKey>& Left() const { return left_; }
  // Processes that run, but of which no word has come since Launched.
  std::vector<ProcessKey> Unconfirmed(uint32_t round) const;

  // The exit code of the first process that failed by itself (its own code, or 128 + signal), of those that no later
  // start has replaced.
  std::optional<int> FirstFailure() const;
  // At least one was started, none runs, and the last one of each slot ended with 0.
  bool HaveAllEndedWell() const;

  void CheckInvariants() const;

 private:
  struct Start {
    uint32_t round = 0;
    uint32_t attempt = 0;
    uint32_t rank = 0;
  };
  struct Failure {
    ProcessKey id;
    int exit_code = 0;
  };

  std::set<ProcessKey> running_;
  std::set<ProcessKey> left_;                 // that have died and left something
  std::map<ProcessKey, StuckProcess> stuck_;  // of those that run or have left something
  std::set<ProcessKey> unconfirmed_;          // part of running_
  std::map<uint32_t, uint64_t> pids_;         // by slot, of those that run
  std::map<uint32_t, Start> launched_;        // slot → its last start
  std::vector<Failure> failures_;             // in the order in which they came
  std::set<uint32_t> ended_well_;             // slots with a last process that ended with 0
};

}  // namespace muster::agent
