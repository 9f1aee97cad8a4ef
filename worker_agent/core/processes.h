// The processes that this agent has started: those that run, those that have died and left something, and those that
// failed.
//
// A process runs until it dies. Then some of its descendants may be left, which the keeper kills. When none is left,
// the process is cleared. A slot is free when no process runs in it and nothing of one is left. The node has no
// processes when all its slots are free.
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
  // The process counts as running from now on. Forgets the failures of the slot's earlier processes.
  void Launched(const ProcessKey& id, uint32_t rank);
  // The keeper has reported the process's start, so its launch can't fail any more. Returns false if it does not run.
  bool MarkStarted(const ProcessKey& id, uint64_t pid);
  // Returns false if the process was not running: the event is a repetition, or not about a process of ours.
  bool MarkEnded(const ProcessKey& id, const ProcessEnd& end, bool leaves_some = false);
  // Returns false if the process had left nothing.
  bool MarkCleared(const ProcessKey& id);
  void MarkAllCleared();
  // Returns false if, as far as is known, neither the process nor anything that it left exists.
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
  // Returns true if something was sent SIGKILL and still exists.
  bool HasSurvivors() const { return !left_.empty() || !stuck_.empty(); }
  // Returns true if something is left, and the keeper has reported that none of it can be killed.
  bool IsAllStuck() const;
  const std::map<ProcessKey, StuckProcess>& Stuck() const { return stuck_; }
  // Returns true if this or a later start of the slot was made.
  bool WasLaunched(const ProcessKey& id) const;
  bool WasAnyLaunched() const { return !launched_.empty(); }

  std::vector<ProcessKey> Running() const { return {running_.begin(), running_.end()}; }
  // Returns the processes that have died and left something.
  const std::set<ProcessKey>& Left() const { return left_; }
  // Returns the running processes of this round about which the keeper has reported nothing since Launched.
  std::vector<ProcessKey> Unconfirmed(uint32_t round) const;

  // Returns the exit code of the first process that failed by itself (its own code, or 128 + signal). Does not count
  // processes that a later start has replaced.
  std::optional<int> FirstFailure() const;
  // Returns true if at least one process was started, none runs, and the last one of each slot ended with 0.
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
  std::set<ProcessKey> left_;                 // those that have died and left something
  std::map<ProcessKey, StuckProcess> stuck_;  // by process, which runs or has left something
  std::set<ProcessKey> unconfirmed_;          // the part of running_ about which the keeper has reported nothing
  std::map<uint32_t, uint64_t> pids_;         // by slot: the pid of its running process
  std::map<uint32_t, Start> launched_;        // slot → its last start
  std::vector<Failure> failures_;             // in the order in which they came
  std::set<uint32_t> ended_well_;             // slots with a last process that ended with 0
};

}  // namespace muster::agent
