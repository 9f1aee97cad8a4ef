// The scheduler's knowledge. The records are durable: only Evolve changes them, and all other code sees them as const.
// A crash loses the runtimes, which belong to the code that applies events.
//
// State::jobs and Job are not const, but only Evolve may change them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/clock.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/journal.pb.h"
#include "scheduler/core/state/events.h"
#include "scheduler/core/state/id_table.h"
#include "scheduler/core/state/node_index.h"
#include "scheduler/core/state/store.h"

namespace muster::scheduler {

class PeerIndex;

// The process of one slot in the current round.
struct SlotState {
  enum class Phase { kIdle, kAssigned, kRunning, kDone, kFailed, kStopped };
  Phase phase = Phase::kIdle;
  uint32_t rank = 0;  // meaningful from kAssigned on
  uint32_t attempt = 0;
  uint64_t pid = 0;
  bool has_remains = false;  // kDone, but something that its process started may still be there

  bool MayRun() const { return phase == Phase::kAssigned || phase == Phase::kRunning; }
  bool HasEnded() const { return phase == Phase::kDone || phase == Phase::kFailed || phase == Phase::kStopped; }
};

// Progress of one slot's process at its agent's last report.
struct ProcessProgress {
  uint32_t round = 0;
  uint32_t attempt = 0;
  std::optional<uint64_t> step;  // none: the file is only touched
  MonotonicTime changed;
  MonotonicTime reported_at;
};

// A process on a node that was sent SIGKILL and is still there, as its agent last reported.
struct StuckOnNode {
  uint64_t pid = 0;
  std::string name;
  std::string state;  // as in proc(5)
  MonotonicTime since;
};

// A newcomer under the id of a node that is still connected. It waits until that node has answered a probe, or has
// failed to.
struct Challenger {
  JoinRequested join;
  uint64_t probe = 0;
  MonotonicTime deadline;
};

// The part of a node that the journal keeps.
struct NodeRecord {
  // These two come first: in Node the record follows NodeRuntime, and each heartbeat also reads the end of that.
  absl::Duration
      armed_fence;  // by this long after the node's last message its keeper has ended the processes; zero: no fence
  uint64_t events_through = 0;

  std::string id;
  uint64_t incarnation = 0;
  v1::NodeInfo info;
  v1::JobSettings settings;  // as the node itself said
  std::string identity;
  bool is_assigned_id = false;
  bool is_spare = false;    // stands by: holds no ranks and is not counted
  bool is_leaving = false;  // it announced it; it goes when its processes are gone
  bool is_lost = false;     // the run waits for it, or for a spare in its place
  v1::NodeRemoved::Why lost_why = v1::NodeRemoved::WHY_UNSPECIFIED;
  std::string lost_reason;
  uint64_t stale_incarnation = 0;  // the lost incarnation, while its processes may still run; else 0
  absl::Duration stale_fence;      // the fence that it was armed with; zero: none
  uint32_t quit_round = 0;         // its processes of this round and of those before have ended
  std::string draining_reason;     // why it is to leave at the next round; empty: it isn't
  std::vector<SlotState> slots;
  uint64_t last_change = 0;          // number of this incarnation's last change of the store; 0: none yet
  int64_t last_sum = 0;              // the answer to it, if it was an Add …
  uint64_t last_change_version = 0;  // … and the store's version with that answer
};

// The part of a node that a crash of the scheduler loses.
struct NodeRuntime {
  uint64_t connect_seq = 0;
  MonotonicTime missing_since = MonotonicTime::Never();  // while the run waits for it, and no spare can stand in
  bool holds_up = false;                                 // it holds up the next round: counted in Run::holding_up
  bool was_seen = false;                                 // by this scheduler process
  std::string reached_at;                                // the scheduler's address that the node last came to; numeric
  std::string principal;                // the principal that joined last (identity or address); see places.cc
  bool is_held = false;                 // counts in the principal's quota of nodes
  v1::Cause restart_cause;              // why failed slots start again at restart_at
  uint64_t acknowledged_elsewhere = 0;  // its events up to this number are acknowledged;
                                        // if the journal has fewer, it is an older copy
  bool fence_needs_all_four = false;    // --fence_needs, as given to this scheduler process
  bool must_quit = false;               // a spare that may run processes (older_journal.cc)
  std::vector<StuckOnNode> stuck;       // what can't be killed there
  // The last numbered change of the store that the node asked for, even if it changed nothing. If asked for again, it
  // gets the same answer and can't take effect later.
  struct {
    uint64_t incarnation = 0;
    uint64_t number = 0;
    uint64_t version = 0;  // the store's, when the request came
    absl::Status status;
  } last_request;

  // Each heartbeat reads these, so they stand together at the end, next to the first fields of NodeRecord: with many
  // nodes every cache line counts.
  uint64_t handle = 0;
  StreamId stream = 0;  // 0: disconnected
  MonotonicTime last_seen;
  MonotonicTime lease_end = MonotonicTime::Never();   // while connected
  MonotonicTime grace_end = MonotonicTime::Never();   // while disconnected
  MonotonicTime stale_end = MonotonicTime::Never();   // when the fence has ended the stale incarnation's processes
  MonotonicTime restart_at = MonotonicTime::Never();  // scope "worker": when failed processes start again
  std::unique_ptr<Challenger> challenger;
  std::string heir_doubt;  // lost: why its next start, which waits, can't confirm that the old processes ended
  std::vector<ProcessProgress> progress;  // by slot; empty: none was reported yet. See ProgressOf
  bool has_reported = false;              // on this stream, so it has received its welcome
  bool had_extra_lease = false;           // the scheduler suspected itself once already
  bool is_settled = false;                // knows the outcome and has no processes
};

class Node : public NodeRuntime {
 public:
  const NodeRecord& record() const { return record_; }

  bool IsAllDone() const;       // each of its processes ended with 0
  bool HasNoProcesses() const;  // and nothing is left of them
  // True if its fence falls even when some of its helper processes are gone, as far as --fence_needs requires that.
  bool IsFenceGuarded() const {
    return record_.info.is_fence_guarded() && (!fence_needs_all_four || record_.info.ends_with_all_four());
  }
  // True if its fence was armed when it was lost, but may fail to fall: then the passing of time proves nothing.
  bool IsFenceUnguarded() const { return record_.stale_fence > absl::ZeroDuration() && !IsFenceGuarded(); }

 private:
  friend struct Recorder;
  NodeRecord record_;
};

// A node that no longer belongs to the run.
struct GoneNode {
  uint64_t incarnation = 0;
  v1::NodeRemoved::Why why = v1::NodeRemoved::WHY_UNSPECIFIED;
  std::string reason;
  std::string host_name;
  std::string address;
  v1::Role role = v1::ROLE_UNSPECIFIED;
  std::string identity;       // the owner of the id
  bool was_replaced = false;  // a spare took its ranks
  uint64_t departure = 0;     // a later departure has a higher number
};

// The part of a departed node that a crash of the scheduler loses.
struct GoneNodeRuntime {
  bool was_seen = false;  // by this scheduler process
  MonotonicTime last_seen;
};

// One start of an agent that was removed. A Join that it sent before may still be on its way.
struct RemovedIncarnation {
  bool is_dead = false;    // it can't have sent anything since its removal
  uint64_t departure = 0;  // a later departure has a higher number
};

// The part of a removed incarnation that a crash of the scheduler loses.
struct RemovedIncarnationRuntime {
  uint64_t connect_seq = 0;
};

// A possible cause of a run's failure; cause.h says which one is reported.
struct CauseCandidate {
  v1::Cause cause;
  int priority = 0;  // the lowest is reported
  MonotonicTime died;
  std::string waited_for = {};  // as RemedyFacts has it
};

// The set of entries is durable: only Evolve adds and erases them. Other code may change their runtimes.
class NodeTable : private IdTable<Node> {
 public:
  using IdTable<Node>::Find;
  using IdTable<Node>::at;
  using IdTable<Node>::begin;
  using IdTable<Node>::contains;
  using IdTable<Node>::empty;
  using IdTable<Node>::end;
  using IdTable<Node>::size;

 private:
  friend struct Recorder;
};

// The part of a run that the journal keeps, besides its nodes.
struct RunRecord {
  std::string job_id;
  uint64_t number = 0;
  v1::RunPhase phase = v1::RUN_PHASE_FORMING;
  v1::JobSettings settings;  // agreed so far
  std::string opened_by;
  int64_t opened_unix_ms = 0;
  // These follow from Run::nodes; Evolve keeps them up to date.
  SlotCounts slot_counts;
  uint32_t spare_count = 0;
  LostNodes lost;
  absl::flat_hash_map<uint64_t, Node*> by_incarnation;
  uint64_t departures = 0;                         // counts removals, to order the entries of the two maps below
  std::map<std::string, GoneNode> gone;            // the latest kMaxGoneNodes
  std::map<uint64_t, RemovedIncarnation> removed;  // by incarnation; the latest kMaxGoneNodes
  uint32_t round = 0;                              // 0: none was closed yet
  uint32_t restart_count = 0;
  std::shared_ptr<const std::string> peer_list;  // serialised, of `round`
  v1::PeerList peers;                            // the same, parsed
  std::string digest;
  std::string master_address;
  uint32_t master_port = 0;
  std::optional<v1::Cause> first_failure;
  std::optional<v1::Cause> first_abort;  // causes with which the first and the last given-up round ended
  std::optional<v1::Cause> last_abort;
  uint32_t recent_restarts = 0;             // of the hour before the last one
  std::optional<uint64_t> aborted_at_step;  // the highest step when the last round was given up
  bool has_given_up = false;                // failing because the restart budget is used up
  v1::Outcome outcome;                      // once ended
  RunStore store;
};

// The part of a run that a crash of the scheduler loses.
struct RunRuntime {
  uint64_t handle = 0;
  std::string principal;  // the principal that opened it, as far as this scheduler process knows; see places.cc
  bool is_held = false;   // the place that it takes
  MonotonicTime opened;
  MonotonicTime aborted;  // when the last round was given up
  MonotonicTime topo_deadline = MonotonicTime::Never();
  MonotonicTime spare_deadline = MonotonicTime::Never();  // when spares may fill in
  MonotonicTime cause_deadline = MonotonicTime::Never();
  MonotonicTime settle_deadline = MonotonicTime::Never();
  MonotonicTime rejoin_deadline = MonotonicTime::Never();  // while a node is lost
  MonotonicTime restart_at = MonotonicTime::Never();       // RECOVERING: the next round begins no earlier
  bool is_held_back = false;  // until OnDue has seen restart_at come; see Context::Schedule
  MonotonicTime progress_deadline = MonotonicTime::Never();  // when some process should have shown progress
  bool lacks_progress = false;                               // none had by then: warned of once
  MonotonicTime looked;  // RECOVERING: when it last looked at all nodes, for the next round …
  MonotonicTime look_deadline = MonotonicTime::Never();  // … and until when the next look is put off
  absl::Duration fence;  // the fence that agents were last sent, unless --fence_timeout is set; never gets shorter,
                         // because agents rely on it
  std::deque<MonotonicTime> restarts;                // of the last hour; one without progress stands twice
  std::optional<uint64_t> highest_step;              // the highest that any process has written
  std::map<std::string, uint64_t> unquit;            // nodes that left before they must_quit did; their incarnations
  uint32_t round_elsewhere = 0;                      // the highest that an agent has reported
  bool is_looking_into_hang = false;                 // its stacks are being gathered
  uint32_t holding_up = 0;                           // RECOVERING: members that are disconnected, or have not quit
  MonotonicTime forget_at = MonotonicTime::Never();  // once ended
  bool is_settled = false;
  std::vector<CauseCandidate> candidates;
  StoreWaits store_waits;  // while its processes may use the store (store/caller.cc)
  // Runtimes of the entries of RunRecord::gone and RunRecord::removed. Evolve adds and erases them with the entries;
  // after a crash there are none.
  std::map<std::string, GoneNodeRuntime> gone_runtimes;
  std::map<uint64_t, RemovedIncarnationRuntime> removed_runtimes;
  mutable std::shared_ptr<const PeerIndex> peer_index;  // of RunRecord::peers, made when first needed; see IndexOf
  mutable struct {
    bool is_valid = false;
    MonotonicTime made;
    std::optional<v1::WaitStatus> status;
  } waiting_cache;
};

class Run : public RunRuntime {
 public:
  Run() = default;
  // A run that does not exist yet, to test whether it could be opened.
  Run(std::string job_id, v1::JobSettings settings) {
    record_.job_id = std::move(job_id);
    record_.settings = std::move(settings);
  }

  NodeTable nodes;

  const RunRecord& record() const { return record_; }

  // True if its ranks are given and nothing is decided about its end.
  bool IsUnderWay() const {
    return record_.phase == v1::RUN_PHASE_RUNNING || record_.phase == v1::RUN_PHASE_RECOVERING;
  }
  // True also while it is being restarted by hand.
  bool Recovers() const { return record_.settings.enable_recovery() || record_.phase == v1::RUN_PHASE_RECOVERING; }
  bool HasEnded() const { return record_.phase == v1::RUN_PHASE_SUCCEEDED || record_.phase == v1::RUN_PHASE_FAILED; }
  // True if the journal is an older copy than what agents know: see older_journal.h.
  bool IsRoundBehind() const { return round_elsewhere > record_.round; }
  bool RestartsAlone() const { return Recovers() && record_.settings.restart_scope() == "worker"; }
  uint32_t MaxRestarts() const;
  // True once this run can only end: a join then opens the next run.
  bool IsOver() const { return HasEnded() || record_.phase == v1::RUN_PHASE_STOPPING; }
  uint32_t Needed(v1::Role role) const {
    return role == v1::ROLE_SERVER ? record_.settings.server_num() : record_.settings.worker_num();
  }
  GoneNodeRuntime RuntimeOfGone(const std::string& node_id) const;
  RemovedIncarnationRuntime RuntimeOfRemoved(uint64_t incarnation) const;
  // Updates `holding_up`; call it after each change to the node's stream, quit_round, is_lost or is_spare. Thanks to
  // the count, thousands of nodes that quit need not look at each other. It omits lost nodes, because spares may stand
  // in for them.
  void NoteReadiness(Node& node);

 private:
  friend struct Recorder;
  RunRecord record_;
};

// A lighthouse's last quorum: see lighthouse/lighthouses.h.
struct QuorumRecord {
  int64_t quorum_id = 0;
  std::vector<std::string> replica_ids;  // sorted
};

// The part of the state that the journal keeps, besides the jobs.
struct StateRecord {
  std::string cluster_id;
  uint64_t term = 0;
  // Jobs without any run, with the number of their last one: at most kMaxForgottenJobs. When it is full, the first is
  // dropped, and its number becomes a lower bound for all unknown jobs: lowest_last_run.
  std::map<std::string, uint64_t> forgotten_jobs;
  uint64_t lowest_last_run = 0;
  std::deque<std::shared_ptr<const v1::JobEvent>> event_log;  // at most kMaxLoggedEvents, oldest first
  uint64_t last_event_number = 0;
  size_t store_bytes = 0;                       // of all runs
  std::map<std::string, QuorumRecord> quorums;  // by lighthouse
};

// Evolve alone changes a Job and State::jobs; any code may change the runs' runtimes.
struct Job {
  uint64_t last_run = 0;
  std::map<uint64_t, Run> runs;
  Run* current() { return runs.empty() ? nullptr : &runs.rbegin()->second; }
};

// Sets the fields with which each record and answer about a run begins: the run, and which of its nodes.
template <typename Message>
void SetHead(Message& message, const Run& run) {
  message.set_job_id(run.record().job_id);
  message.set_run(run.record().number);
}
template <typename Message>
void SetHead(Message& message, const Run& run, const Node& node) {
  SetHead(message, run);
  message.set_node_id(node.record().id);
}

class State {
 public:
  State() = default;
  explicit State(std::string cluster_id) { record_.cluster_id = std::move(cluster_id); }

  std::map<std::string, Job> jobs;

  const StateRecord& record() const { return record_; }

  Run* FindRun(const std::string& job_id, uint64_t run);
  const Run* FindRun(const std::string& job_id, uint64_t run) const;
  // Returns the number of the last run that the job ever had; 0: none.
  uint64_t LastRunOf(const std::string& job_id) const;

 private:
  friend struct Recorder;
  StateRecord record_;
};

inline constexpr size_t kMaxGoneNodes = 256;
inline constexpr size_t kMaxForgottenJobs = 4096;

// The durable state in a canonical text form.
std::string DebugText(const State& state);

// Names for people: "worker", "server".
const char* RoleName(v1::Role role);
const char* SlotPhaseName(SlotState::Phase phase);
const char* RunPhaseName(v1::RunPhase phase);

// "0-3,7"
std::string FormatRanks(std::vector<uint32_t> ranks);
// The ranks that a node holds now, in slot order.
std::vector<uint32_t> RanksOf(const Node& node);
// "node b (host-b, 10.0.0.2)"
std::string NodeText(const Node& node);

}  // namespace muster::scheduler
