// The course of runs: rounds close, are given up and close again; nodes are lost, drained and removed; runs end with a
// cause.
//
//   rounds.cc      closes rounds, and sends each node its desired state
//   recovering.cc  gives up rounds, and begins the next ones
//   draining.cc    drains nodes that a person wants to leave the job
//   ending.cc      removes nodes, and ends runs
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/core/context/context.h"
#include "scheduler/core/facts/cause.h"
#include "scheduler/core/lifecycle/hosts.h"
#include "scheduler/core/places/places.h"
#include "scheduler/core/places/round_addresses.h"
#include "scheduler/core/store/store_service.h"

namespace muster::scheduler {

// Time for which a forming run waits for regular nodes before spares fill in for them.
inline constexpr absl::Duration kSpareWait = absl::Seconds(10);

class Lifecycle {
 public:
  Lifecycle(Context& context, Places& places, StoreService& store)
      : context_(context), places_(places), store_(store) {}

  // ---- rounds.cc
  // Closes the first round if it can; may remove nodes that the others could not reach.
  void TryCloseRound(Run& run);
  void SendDesired(const Run& run, const Node& node, bool is_urgent);

  // ---- recovering.cc
  void On(const SteerRequested& event);
  // Gives up the round, or the run, after a failure. The caller calls TryNextRound once it has handled the whole event.
  void Disturb(Run& run, CauseCandidate candidate);
  // Restarts only the failed process, after the back-off (scope "worker").
  void RestartAlone(Run& run, Node& node, CauseCandidate candidate);
  void RestartFailedSlots(Run& run, Node& node);
  // Closes the next round if it can; may remove lost nodes.
  void TryNextRound(Run& run);
  // Does the same after an event that can only have changed the readiness of this node.
  void TryNextRoundAfter(Run& run, const Node& node);
  // Does the same, and looks at all nodes now, even if the counts say that the round can't close.
  void LookForNextRound(Run& run) { LookForNextRound(run, {}); }
  // Call these before and after a Tick. Between them, the loss of a node does not call TryNextRound; EndTick calls it
  // once for each run that has lost nodes.
  void BeginTick() { is_ticking_ = true; }
  void EndTick();
  // True if the run needs nothing more from the node, or can wait for the node or for a spare.
  bool GoesOnWithout(const Run& run, const Node& node) const;
  // Does LoseNode's work for a run that goes on without the node; the node's ranks wait for it or for a spare.
  // `candidate` becomes a possible cause if the round is given up because of this.
  void MissNode(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed,
                CauseCandidate candidate);
  // Records that the processes of the node's stale incarnation have certainly ended. The caller calls TryNextRound.
  void ConfirmDead(Run& run, Node& node, const std::string& reason);
  // Returns the time from which on the processes of the node's stale incarnation have certainly ended: when its fence
  // is over, counted from `heard`, the node's last message. Returns Never() if its fence proves nothing: a fence that
  // needs a living agent or keeper does not end any process if these were killed as well.
  static MonotonicTime StaleEnd(const Node& node, MonotonicTime heard);

  // ---- bad_nodes.cc
  // True if the node that the cause names will be drained for it: the restart then costs no budget.
  bool IsDrainedFor(const Run& run, const v1::Cause& cause) const;

  // ---- ending.cc
  void On(const StopRequested& event);
  void On(const DrainRequested& event);
  // Handles the loss of the node: the run waits for it, goes on without it, or fails. `is_confirmed`: its processes
  // have certainly ended. `signal` is the signal that ended its agent; 0: none, or not known.
  void LoseNode(Run& run, Node& node, const std::string& why, bool is_confirmed, int signal);
  // Removes the node. It does not close the node's stream, because the caller may still want to send a message on it.
  void RemoveNode(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed);
  // Records the fence with which the node's keeper is armed. A value other than the fence that agents are sent now
  // counts as not armed.
  void NoteFence(Run& run, Node& node, absl::Duration armed);
  void Fail(Run& run, CauseCandidate candidate, bool gives_up = false);  // gives_up: the restart budget is used up
  // Ends a failing run with its cause, once no node can report another cause or CauseWait is over.
  void FixCauseIfKnown(Run& run);
  // Ends the run as succeeded if all its processes have ended with exit code 0.
  void CheckSuccess(Run& run);
  // Emits RunSettled once every agent knows the outcome or is gone.
  void CheckSettled(Run& run);
  void ForgetRun(Run& run);
  // Forgets the oldest ended runs of a job; kMaxEndedRunsPerJob remain.
  void PruneRuns(Job& job);
  // Forgets one job in which no node takes part. Returns false if there is no such job.
  bool MakeRoomForAJob();
  absl::Duration KeepRunsFor() const;
  absl::Duration CauseWait(const Run& run) const;

 private:
  // ---- rounds.cc
  // `passed_over` has the spares that must not take part, because the other nodes could not reach them.
  std::vector<const Node*> ChooseMembers(const Run& run, const std::set<std::string>& passed_over,
                                         std::vector<std::string>& promoted) const;
  void CloseRound(Run& run, const std::vector<const Node*>& members, const OtherAddresses& addresses,
                  const std::vector<std::string>& promoted, const std::map<std::string, const Node*>& stands_for = {});
  // Refuses these nodes, which have no running processes. The run then waits for them or for other nodes.
  void TurnAway(Run& run, const std::vector<Unreachable>& unreachable);
  // True if the hosts of the members fit together. Logs a warning for harmless differences between hosts; turns away
  // the nodes with a fatal one.
  bool DoHostsFit(Run& run, const HostsCheck& check);
  void SendDesiredToAll(const Run& run, bool is_urgent);

  // ---- recovering.cc
  absl::StatusOr<std::string> RestartByHand(Run& run, const v1::SteerRequest& request);
  // Restarts all processes because a person decided it. Such a restart does not count against the restart budget.
  void RestartAsDecided(Run& run, const std::string& why, uint32_t round = 0);
  absl::StatusOr<std::string> Fence(Run& run, const v1::SteerRequest& request);
  bool TakeFromBudget(Run& run);
  bool PayForRestart(Run& run);
  void LookForNextRound(Run& run, std::set<std::string> passed_over);
  // Gives up the run's round. `round` is the round to give up if it is above the run's (places/older_journal.cc).
  void AbortRound(Run& run, CauseCandidate candidate, absl::Duration back_off, uint32_t round = 0);
  void MarkLost(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed);

  // ---- draining.cc
  absl::StatusOr<std::string> Drain(Run& run, const v1::SteerRequest& request);
  void NoteDraining(const Run& run, const Node& node, const v1::SteerRequest& request);
  void DismissDraining(Run& run);
  void Dismiss(Run& run, Node& node);
  void SendAway(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, v1::Refusal refusal);

  // ---- bad_nodes.cc
  // Drains the node that has ended the round, if it is broken and a spare fits. Called once for each round, when all
  // nodes have quit it. True if a node was drained: the nodes must be looked at again.
  // `members` will be in the next round, and `spares` stand by for others.
  bool DrainBadNode(Run& run, const std::vector<const Node*>& members, const std::vector<const Node*>& spares);
  size_t CountFailure(Run& run, const std::string& node_id);
  // Records that the scheduler drains the node.
  void DrainForFault(const Run& run, const Node& node, const std::string& why);
  // True while the next round must wait for node checks, because of the failures that ended this one. Asks for the
  // checks once for each round.
  bool AwaitsNodeCheck(Run& run);
  void AskForNodeChecks(Run& run);
  // Drains the first of the slow nodes of a forming run (--exclude_stragglers) for which a better spare stands by.
  bool DrainStraggler(Run& run, const std::vector<const Node*>& members, const std::vector<const Node*>& stragglers);

  // ---- ending.cc
  void SayGoingAway();
  void ReleaseChallenger(Node& node);
  void End(Run& run, bool succeeded, const v1::Cause& cause);

  Context& context_;
  Places& places_;
  StoreService& store_;
  bool is_ticking_ = false;
  std::set<uint64_t> to_try_;  // handles of runs that lost nodes in this tick
};

}  // namespace muster::scheduler
