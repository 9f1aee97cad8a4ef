// Which processes this agent has started, which run, and which of them failed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "worker_agent/core/process_end.h"
#include "worker_agent/core/process_key.h"

namespace muster::agent {

class Processes {
 public:
  // Counts as running from here on. What the slot's earlier processes died of no longer matters.
  void Launched(const ProcessKey& id);
  // Its ProcessStarted came: it is no launch failure any more.
  bool MarkStarted(const ProcessKey& id, uint64_t pid);
  // False when it was not running: a repetition, or nothing of ours.
  bool MarkEnded(const ProcessKey& id, const ProcessEnd& end);

  bool IsAnyRunning() const { return !running_.empty(); }
  bool IsRunning(const ProcessKey& id) const { return running_.contains(id); }
  bool IsSlotRunning(uint32_t slot) const;
  // Of the process that runs there; 0 when there is none or nothing was heard of it yet.
  uint64_t PidOf(uint32_t slot) const;
  bool IsAnyRunningOutside(uint32_t round) const;
  // This or a later start of the slot has been made.
  bool WasLaunched(const ProcessKey& id) const;
  bool WasAnyLaunched() const { return !launched_.empty(); }

  std::vector<ProcessKey> Running() const { return {running_.begin(), running_.end()}; }
  // Running, but nothing was heard of them since Launched.
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
    auto operator<=>(const Start&) const = default;
  };
  struct Failure {
    ProcessKey id;
    int exit_code = 0;
  };

  std::set<ProcessKey> running_;
  std::set<ProcessKey> unconfirmed_;    // part of running_
  std::map<uint32_t, uint64_t> pids_;   // by slot, of those that run
  std::map<uint32_t, Start> launched_;  // slot → its last start
  std::vector<Failure> failures_;       // in the order in which they came
  std::set<uint32_t> ended_well_;       // slots whose last process ended with 0
};

}  // namespace muster::agent
