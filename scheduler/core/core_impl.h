// The inside of the core. Its functions stand by topic in the folders below: membership, lifecycle, liveness, store and
// stacks; what only reads stands in views. Everything here belongs to the one thread that owns the core.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/base/limits.h"
#include "scheduler/core/core.h"
#include "scheduler/core/deadline_queue.h"
#include "scheduler/core/lifecycle/cause.h"
#include "scheduler/core/liveness/progress.h"
#include "scheduler/core/membership/placement.h"
#include "scheduler/core/membership/quota.h"
#include "scheduler/core/state.h"

namespace muster::scheduler {

inline constexpr size_t kFewNodes = 256;       // to look at all of them takes no time
inline constexpr size_t kMaxCandidates = 256;  // for a cause; the later ones are consequences

class Core::Impl {
 public:
  Impl(CoreOptions options, std::string cluster_id);

  void Recover(const v1::Record& record);
  absl::Status CheckRecovered() const;
  LaterSnapshot TakeSnapshotLater() const;
  Effects Start(Now now);
  Effects Apply(const Event& event, Now now);
  MonotonicTime NextDeadline() const { return deadlines_.Next(); }
  void CheckInvariants() const;
  const State& state() const { return state_; }

 private:
  // A stream belongs to a node, or to a challenger that waits for the node's id. Who removes the node takes its streams
  // out of streams_.
  struct Attached {
    Run* run = nullptr;
    Node* node = nullptr;
    bool is_challenger = false;
    uint64_t heartbeat_seq = 0;  // the latest that was heard
  };
  // What a deadline belongs to: a run, or one of its nodes. Who removes that takes it out of owners_.
  struct Owner {
    Run* run = nullptr;
    Node* node = nullptr;  // null: the run
  };
  // What an agent will be told; made where it stays.
  using Message = std::shared_ptr<v1::SchedulerMessage>;
  // Stacks that agents have been asked for.
  struct Gathering {
    QueryId query = 0;  // 0: the run stands still
    std::string job_id;
    uint64_t run = 0;
    uint32_t round = 0;
    MonotonicTime deadline;
    std::set<std::string> awaited;             // nodes
    std::map<uint32_t, v1::RankStack> stacks;  // by rank; what is known so far
  };

  // joining.cc
  void On(const JoinRequested& event);
  void JoinKnownRun(const JoinRequested& event, Run& run);
  void JoinCurrentRun(const JoinRequested& event);
  Run* RunForNewcomer(const JoinRequested& event);
  Run* OpenRun(const JoinRequested& event);
  void Challenge(const JoinRequested& event, Run& run, Node& node);
  void ResolveChallenge(Run& run, Node& node, bool is_old_alive);
  void TakeOver(const JoinRequested& event, Run& run, Node& node);
  std::optional<v1::Refusal> CheckAdmission(const Run& run, const v1::JobSettings& settings,
                                            const JoinRequested& event) const;
  void Admit(const JoinRequested& event, Run& run, bool replaces = false);
  // What the record of any join says; who is let in how is the caller's to add.
  v1::Record NewNodeJoined(const Run& run, const std::string& id, const JoinRequested& event) const;
  void Resume(const JoinRequested& event, Run& run, Node& node);
  void Attach(const JoinRequested& event, Run& run, Node& node, bool is_resumed);
  void Refuse(StreamId stream, v1::Refusal refusal);
  std::string PreviousRunText(const Run& run) const;

  // reporting.cc
  void On(const ReportReceived& event);
  void On(const HeartbeatReceived& event);
  void On(const ProbeAnswered& event);
  void On(const StreamClosed& event);
  void On(const FarewellReceived& event);
  void HearFarewell(const FarewellReceived& event);
  void TakeEvents(Run& run, Node& node, const v1::Report& report);
  void HearOfLeaving(Run& run, Node& node, const v1::NodeLeaving& leaving, MonotonicTime when);
  void NoteFence(Run& run, Node& node, absl::Duration armed);
  void Hear(Run& run, Node& node, uint32_t armed_fence_ms);
  void Acknowledge(Run& run, Node& node, uint64_t heartbeat_seq);

  // rounds.cc
  static bool AreEnoughThere(const Run& run);
  void TryCloseRound(Run& run);
  std::vector<const Node*> ChooseMembers(const Run& run, std::vector<std::string>& promoted) const;
  void CloseRound(Run& run, const std::vector<const Node*>& members, const std::vector<std::string>& promoted,
                  const std::map<std::string, const Node*>& stands_for = {});
  void SendDesired(const Run& run, const Node& node, bool is_urgent);
  void SendDesiredToAll(const Run& run, bool is_urgent);
  const v1::WaitStatus& Waiting(Run& run);

  // recovering.cc
  void On(const SteerRequested& event);
  absl::StatusOr<std::string> RestartByHand(Run& run, const v1::SteerRequest& request);
  absl::StatusOr<std::string> Fence(Run& run, const v1::SteerRequest& request);
  void Disturb(Run& run, CauseCandidate candidate);
  void RestartAlone(Run& run, Node& node, CauseCandidate candidate);
  void RestartFailedSlots(Run& run, Node& node);
  bool TakeFromBudget(Run& run);
  void AbortRound(Run& run, CauseCandidate candidate, absl::Duration back_off);
  void NoteReadiness(Run& run, Node& node);
  void TryNextRound(Run& run);  // may remove lost nodes
  void LookForNextRound(Run& run);
  void TryNextRoundAfter(Run& run, const Node& node);
  bool GoesOnWithout(const Run& run, const Node& node) const;
  void MarkLost(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed);
  static MonotonicTime StaleEnd(const Node& node, MonotonicTime heard);
  void MissNode(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed,
                CauseCandidate candidate);
  void ConfirmDead(Run& run, Node& node, const std::string& reason);
  void Rejoin(const JoinRequested& event, Run& run, Node& node);
  Node* SeatFor(Run& run, const JoinRequested& event);
  static bool IsSoleHeir(const Node& node, const v1::Join& join);
  static bool IsFormerStart(const Node& node, const v1::Join& join);
  bool RestartsAlone(const Run& run) const;
  uint32_t MaxRestarts(const Run& run) const;
  absl::Duration RejoinTimeout(const Run& run) const;

  // draining.cc
  absl::StatusOr<std::string> Drain(Run& run, const v1::SteerRequest& request);
  void DismissDraining(Run& run);
  void Dismiss(Run& run, Node& node);

  // holding.cc
  std::optional<v1::Refusal> RefuseJob(const JoinRequested& event) const;
  std::optional<v1::Refusal> RefuseNode(const JoinRequested& event) const;
  void NoteHeld(Run& run);
  void NoteHeld(const Run& run, Node& node);
  void NoteParty(Run& run, Node& node, const JoinRequested& event);
  void Release(Node& node);
  void Release(Run& run);

  // progress.cc
  void TakeProgress(Run& run, Node& node, const v1::Report& report);
  std::vector<Watched> StandingStill(const Run& run) const;
  CauseCandidate DescribeHang(const Run& run) const;
  static bool IsWithoutProgress(const Run& run);

  // stacks.cc
  void On(const StacksRequested& event);
  void On(const StackTracesReceived& event);
  void LookIntoHang(Run& run);
  void Gather(Run& run, const std::vector<uint32_t>& ranks, QueryId query);
  void FinishGathering(uint64_t number);
  void GiveUpHang(const Gathering& gathering);

  // storing.cc
  void On(const StoreRequested& event);
  void Serve(Run& run, Node& node, QueryId query, const v1::StoreGet& request);
  void Serve(Run& run, Node& node, QueryId query, const v1::StoreWait& request);
  template <typename Request>
  void Serve(Run& run, Node& node, QueryId query, const Request& request);  // the others: changes
  void ChangeStore(Run& run, const Node& node, v1::StoreChanged changed);
  absl::Status CheckStoreRoom(const Run& run, const std::string& writer, const v1::StoreChanged& changed) const;
  void EndStoreWaits(Run& run);
  void ExpireStoreWaits(Run& run);

  // ending.cc
  void On(const StopRequested& event);
  void On(const DrainRequested& event);
  void SayGoingAway();
  void ReleaseChallenger(Node& node);
  void RemoveNode(Run& run, Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_confirmed);
  void LoseNode(Run& run, Node& node, const std::string& reason, bool is_confirmed, int signal);
  void Fail(Run& run, CauseCandidate candidate, bool gives_up = false);  // gives_up: restarting
  void FixCauseIfKnown(Run& run);
  void DescribeGivingUp(const Run& run, v1::Cause& cause) const;
  void End(Run& run, bool succeeded, const v1::Cause& cause);
  absl::Duration KeepRunsFor() const;
  void CheckSuccess(Run& run);
  void CheckSettled(Run& run);
  void PruneRuns(Job& job);
  void ForgetRun(Run& run);
  bool MakeRoomForAJob();
  bool MayStillReport(const Run& run) const;

  // timing.cc
  void On(const Tick& event);
  void TakeDue();
  void On(const LoopWasLate& event);
  void OnDue(Run& run);
  void OnDue(Run& run, Node& node);
  void FailForMissing(Run& run);
  bool SuspectsItself();
  void Schedule(Run& run);
  void Schedule(Node& node);
  absl::Duration HeartbeatInterval() const;
  absl::Duration SpareFence() const;
  absl::Duration FenceTimeout(Run& run);  // zero: not armed
  absl::Duration TopoTimeout(const v1::JobSettings& settings) const;
  absl::Duration Lease() const { return options_.lease; }

  // views.cc
  void On(const QueryReceived& event);
  v1::StatusReply View(const v1::StatusRequest& request);
  v1::NodesReply View(const v1::NodesRequest& request) const;
  v1::RanksReply View(const v1::RanksRequest& request) const;
  v1::EventsReply View(const v1::EventsRequest& request) const;
  v1::RunStatus RunView(Run& run);
  Run* FindNamed(const std::string& job_id, uint64_t run);  // run 0: the latest
  static absl::Status NoSuchRun(const std::string& job_id, uint64_t run);
  static absl::Status NoSuchNode(const Run& run, const std::string& node_id);
  const Run* ResolveRun(const std::string& job_id, uint64_t run) const;

  // core.cc
  v1::Record NewRecord() const;
  void Write(v1::Record record);  // evolves, persists, announces
  Message NewMessage() const;
  void SendTo(StreamId stream, Message message, bool is_urgent = false);
  void CloseStreamOf(StreamId stream);
  void Detach(Run& run, Node& node);  // the stream is gone or given up
  void GiveHandles(Run& run);

  void CheckPointers() const;  // invariants.cc
  void CheckQuotas() const;

  const CoreOptions options_;
  State state_;
  DeadlineQueue deadlines_;
  absl::flat_hash_map<StreamId, Attached> streams_;
  absl::flat_hash_map<uint64_t, Owner> owners_;
  uint64_t last_handle_ = 0;
  uint64_t last_probe_ = 0;
  uint64_t connected_nodes_ = 0;
  Quota jobs_{kMaxJobs};
  Quota nodes_;
  bool is_ticking_ = false;
  std::set<uint64_t> to_try_;  // handles of runs that lost nodes in this tick
  // --once: the job of the one run that is served. Not one that had ended before this start: that is history.
  std::optional<std::string> once_job_;
  uint64_t once_handle_ = 0;  // --once: the topology timeout before any join
  MonotonicTime once_deadline_ = MonotonicTime::Never();
  bool is_draining_ = false;
  Now now_;
  Now started_;
  Effects effects_;
  std::map<uint64_t, Gathering> gatherings_;  // by the number that the agents answer with
  std::vector<JoinRequested> requeued_;       // challengers whose rival, or its run, went away meanwhile
};

}  // namespace muster::scheduler
