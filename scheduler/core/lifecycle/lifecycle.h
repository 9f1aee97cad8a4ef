// How runs go on and end: rounds close, are given up and closed again; nodes are lost, drained and removed; what ends a
// run is fixed and told.
//
//   rounds.cc      a round closes, and each node is told what it shall converge on
//   recovering.cc  a round is given up, and how the next one begins
//   draining.cc    a node that somebody wants out of the job
//   ending.cc      how nodes go and how runs end
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/core/context/context.h"
#include "scheduler/core/facts/cause.h"
#include "scheduler/core/places/places.h"
#include "scheduler/core/places/round_addresses.h"
#include "scheduler/core/store/store_service.h"

namespace muster::scheduler {

// How long a forming run waits for regular nodes before spares fill in for them.
inline constexpr absl::Duration kSpareWait = absl::Seconds(10);

class Lifecycle {
 public:
  Lifecycle(Context& context, Places& places, StoreService& store)
      : context_(context), places_(places), store_(store) {}

  // ---- rounds.cc
  // May remove nodes that the others could not reach.
  void TryCloseRound(Run& run);
  void SendDesired(const Run& run, const Node& node, bool is_urgent);

  // ---- recovering.cc
  void On(const SteerRequested& event);
  // Something failed: the round is given up, or the run. The caller tries the next round once it has dealt with all
  // that came with it.
  void Disturb(Run& run, CauseCandidate candidate);
  // Scope "worker": the process alone starts again, after the back-off.
  void RestartAlone(Run& run, Node& node, CauseCandidate candidate);
  void RestartFailedSlots(Run& run, Node& node);
  // Closes the next round if it can; may remove lost nodes.
  void TryNextRound(Run& run);
  // The same after an event that can have changed nothing but the readiness of this node.
  void TryNextRoundAfter(Run& run, const Node& node);
  // The same, and looks at all nodes at once, whatever the counts say.
  void LookForNextRound(Run& run) { LookForNextRound(run, {}); }
  // Between these two, TryNextRound after a loss is put off: one look is enough for all that a tick brings.
  void BeginTick() { is_ticking_ = true; }
  void EndTick();
  // The run needs nothing more of the node, or can wait for it or for a spare.
  bool GoesOnWithout(const Run& run, const Node& node) const;
  // The part of LoseNode for a run that goes on without it: its ranks wait. `candidate`: told if the round is given up
  // for it.
  void MissNode(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed,
                CauseCandidate candidate);
  // The processes of the node's stale incarnation have certainly ended. The caller tries the next round.
  void ConfirmDead(Run& run, Node& node, const std::string& reason);
  // When time alone shows that the processes of the node's stale incarnation have ended: the fence, counted from when
  // it was heard. One that needs agent or keeper alive shows nothing, for who was killed with them can't have ended
  // anybody.
  static MonotonicTime StaleEnd(const Node& node, MonotonicTime heard);

  // ---- ending.cc
  void On(const StopRequested& event);
  void On(const DrainRequested& event);
  // The node is lost: the run waits for it, or goes on without it, or fails. `signal`: what ended its agent; 0: none,
  // or not known.
  void LoseNode(Run& run, Node& node, const std::string& why, bool is_confirmed, int signal);
  // It goes. Its stream is left to the caller, who may still want to say something on it.
  void RemoveNode(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed);
  // Records what the node's keeper is armed with; anything but what it was told last counts as not armed.
  void NoteFence(Run& run, Node& node, absl::Duration armed);
  void Fail(Run& run, CauseCandidate candidate, bool gives_up = false);  // gives_up: the restart budget is used up
  // Ends a failing run once nobody can report another cause, or CauseWait is over.
  void FixCauseIfKnown(Run& run);
  // Ends the run well if all processes have ended with 0.
  void CheckSuccess(Run& run);
  // Emits RunSettled once every agent knows the outcome or is gone.
  void CheckSettled(Run& run);
  void ForgetRun(Run& run);
  // Keeps the newest ended runs of a job.
  void PruneRuns(Job& job);
  // Forgets one job that nobody takes part in; false: there is none.
  bool MakeRoomForAJob();
  absl::Duration KeepRunsFor() const;
  absl::Duration CauseWait(const Run& run) const;

 private:
  // ---- rounds.cc
  // `passed_over`: spares that are of no use, since the others could not reach them.
  std::vector<const Node*> ChooseMembers(const Run& run, const std::set<std::string>& passed_over,
                                         std::vector<std::string>& promoted) const;
  void CloseRound(Run& run, const std::vector<const Node*>& members, const OtherAddresses& addresses,
                  const std::vector<std::string>& promoted, const std::map<std::string, const Node*>& stands_for = {});
  // They go, and the run waits for them or others. They have no processes, or these have ended.
  void TurnAway(Run& run, const std::vector<Unreachable>& unreachable);
  // Before a round: whether all their hosts fit. Says what does not matter; turns away whom it does.
  bool DoHostsFit(Run& run, const std::vector<const Node*>& members);
  void SendDesiredToAll(const Run& run, bool is_urgent);

  // ---- recovering.cc
  absl::StatusOr<std::string> RestartByHand(Run& run, const v1::SteerRequest& request);
  // Counts for no budget.
  void RestartAsDecided(Run& run, const std::string& why, uint32_t round = 0);
  absl::StatusOr<std::string> Fence(Run& run, const v1::SteerRequest& request);
  bool TakeFromBudget(Run& run);
  void LookForNextRound(Run& run, std::set<std::string> passed_over);
  // `round`: the one that is given up, if it is above the run's (places/older_journal.cc).
  void AbortRound(Run& run, CauseCandidate candidate, absl::Duration back_off, uint32_t round = 0);
  void MarkLost(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed);

  // ---- draining.cc
  absl::StatusOr<std::string> Drain(Run& run, const v1::SteerRequest& request);
  void NoteDraining(const Run& run, const Node& node, const v1::SteerRequest& request);
  void DismissDraining(Run& run);
  void Dismiss(Run& run, Node& node);
  void SendAway(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, v1::Refusal refusal);

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
