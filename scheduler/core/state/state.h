// The scheduler's state. The types named …Record are durable: only Evolve changes them, and all other code sees them as
// const. A crash loses the types named …Runtime; the code that applies events changes these directly.
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
  bool has_remains = false;  // kDone, but a descendant of the process may still run

  bool MayRun() const { return phase == Phase::kAssigned || phase == Phase::kRunning; }
  bool HasEnded() const { return phase == Phase::kDone || phase == Phase::kFailed || phase == Phase::kStopped; }
};

// The progress of one slot's process, as its agent last reported it.
struct ProcessProgress {
  uint32_t round = 0;
  uint32_t attempt = 0;
  std::optional<uint64_t> step;  // nullopt: the process shows no numbers
  bool is_of_output = false;     // --expect saw it: the number need not be a training step
  double steps_per_second = 0;   // of the last steps, weighted; 0: not known
  MonotonicTime changed;
  MonotonicTime reported_at;
};

// The activity of a running process when its agent looked last. It is shown to people; nothing is decided by it.
struct ProcessActivity {
  uint32_t round = 0;
  uint32_t attempt = 0;
  std::optional<MonotonicTime> last_output;  // nullopt: it has written none
  std::optional<uint32_t> cpu_percent;
  std::string state;  // as in proc(5); empty: not known
};

// A process that has survived SIGKILL, by the last report of its node's agent.
struct StuckOnNode {
  uint64_t pid = 0;
  std::string name;
  std::string state;  // as in proc(5)
  MonotonicTime since;
};

// A process that is stopped or in uninterruptible sleep, by the last report of its node's agent.
struct HaltedOnNode {
  uint32_t slot = 0;
  uint64_t pid = 0;
  std::string name;
  std::string state;     // as in proc(5): "T" or "D"
  std::string waits_in;  // empty: not known
  MonotonicTime since;
};

// A newcomer that claims the id of a node that is still connected. It waits until that node has answered a probe, or
// until the time for the answer is over.
struct Challenger {
  JoinRequested join;
  uint64_t probe = 0;
  MonotonicTime deadline;
};

// The part of a node that the journal keeps.
struct NodeRecord {
  // These two come first, next to the end of NodeRuntime in memory: each heartbeat reads both parts.
  absl::Duration armed_fence;   // this long after the node's last message its processes have ended; zero: no fence
  uint64_t events_through = 0;  // the number of the node's last event that was taken

  std::string id;
  uint64_t incarnation = 0;
  v1::NodeInfo info;
  v1::JobSettings settings;  // the values that the node itself sent
  std::string identity;
  bool is_assigned_id = false;
  bool is_spare = false;    // it stands by, without ranks, and does not count as a member
  bool is_leaving = false;  // it has announced that it leaves when its processes have ended
  bool is_lost = false;     // the run waits for it, or for a spare in its place
  v1::NodeRemoved::Why lost_why = v1::NodeRemoved::WHY_UNSPECIFIED;
  std::string lost_reason;
  uint64_t stale_incarnation = 0;  // the lost incarnation, while its processes may still run; else 0
  absl::Duration stale_fence;      // the fence with which the lost incarnation was armed; zero: none
  uint32_t quit_round = 0;         // its processes of this round and of earlier rounds have ended
  std::string draining_reason;     // why it must leave at the next round; empty: it need not leave
  std::vector<SlotState> slots;
  uint64_t last_change = 0;          // number of this incarnation's last change of the store; 0: none yet
  int64_t last_sum = 0;              // if this change was an Add: the sum in its answer
  uint64_t last_change_version = 0;  // the store's version in that answer
};

// The part of a node that a crash of the scheduler loses.
struct NodeRuntime {
  uint64_t connect_seq = 0;
  MonotonicTime missing_since = MonotonicTime::Never();  // since when the run waits for it, and no spare can stand in
  bool holds_up = false;                                 // it holds up the next round: counted in Run::holding_up
  bool was_seen = false;                                 // it has connected to this scheduler process
  bool was_silent = false;                               // its heartbeats had stopped before its connection broke
  std::string reached_at;                                // the scheduler's address that the node last came to; numeric
  std::string principal;                // the principal that joined last (identity or address); see places.cc
  bool is_held = false;                 // it counts in the principal's quota of nodes
  v1::Cause restart_cause;              // why failed slots start again at restart_at
  uint64_t acknowledged_elsewhere = 0;  // the node says that its events up to this number were acknowledged;
                                        // a journal with fewer events is an older copy
  bool fence_needs_all_four = false;    // CoreOptions::fence_needs_all_four
  bool must_quit = false;               // it is a spare that may run processes (older_journal.cc)
  std::vector<StuckOnNode> stuck;       // its processes that can't be killed
  std::vector<HaltedOnNode> halted;     // its processes that are stopped, or in uninterruptible sleep
  uint32_t check_asked = 0;             // the round after which it was last asked for its node check
  uint32_t check_passed = 0;            // the round after which it last passed that check
  // The last numbered change of the store that the node asked for, even if it changed nothing. If the node asks for it
  // again, it gets the same answer, and the request can't take effect later.
  struct {
    uint64_t incarnation = 0;
    uint64_t number = 0;
    uint64_t version = 0;  // the version of the store when the request came
    absl::Status status;
  } last_request;

  // Each heartbeat reads these fields. So they are together at the end, next to the first fields of NodeRecord: with
  // many nodes every cache line counts.
  uint64_t handle = 0;
  StreamId stream = 0;  // 0: disconnected
  MonotonicTime last_seen;
  MonotonicTime lease_end = MonotonicTime::Never();   // set while it is connected
  MonotonicTime grace_end = MonotonicTime::Never();   // set while it is disconnected
  MonotonicTime stale_end = MonotonicTime::Never();   // when the fence has ended the stale incarnation's processes
  MonotonicTime restart_at = MonotonicTime::Never();  // scope "worker": when failed processes start again
  std::unique_ptr<Challenger> challenger;
  std::string heir_doubt;  // if it is lost: why its next start can't confirm that the old processes have ended
  std::vector<ProcessProgress> progress;  // by slot; empty: none was reported yet. See ProgressOf
  std::vector<ProcessActivity> activity;  // in the same way; see ActivityOf
  uint64_t unseen_lines = 0;              // of output, not matched with --expect; by the last report
  bool has_reported = false;              // it has sent a report on this stream, so it has received its welcome
  bool had_extra_lease = false;           // its lease was extended once (Liveness::SuspectsItself)
  bool is_settled = false;                // it knows the outcome of the run and has no processes
};

class Node : public NodeRuntime {
 public:
  const NodeRecord& record() const { return record_; }

  // True while the next round waits for its node check.
  bool IsBeingChecked(uint32_t round) const {
    return check_asked == round && check_passed < round && stream != 0 && !record_.is_lost;
  }
  bool IsAllDone() const;       // each of its processes has ended with exit code 0
  bool HasNoProcesses() const;  // IsAllDone, and no process that they started is left
  // True if its fence ends the processes even when helper processes (agent, keeper, …) have died: any three of the four
  // or, if --fence_needs is all-four, all four.
  bool IsFenceGuarded() const {
    return record_.info.is_fence_guarded() && (!fence_needs_all_four || record_.info.ends_with_all_four());
  }
  // True if its fence was armed when it was lost, but might not end the processes. Then time alone does not prove that
  // they have ended.
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
  bool was_seen = false;  // it had connected to this scheduler process
  MonotonicTime last_seen;
};

// A start of an agent that was removed from the run. It is remembered because a Join that it sent before may arrive
// later.
struct RemovedIncarnation {
  bool is_dead = false;    // it had ended, so it can't have sent a Join after its removal
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
  std::string waited_for = {};  // see RemedyFacts::waited_for
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
  // These four follow from Run::nodes; Evolve keeps them up to date.
  SlotCounts slot_counts;
  uint32_t spare_count = 0;
  LostNodes lost;
  absl::flat_hash_map<uint64_t, Node*> by_incarnation;
  uint64_t departures = 0;                         // counts removals, to order the entries of the two maps below
  std::map<std::string, GoneNode> gone;            // the latest kMaxGoneNodes
  std::map<uint64_t, RemovedIncarnation> removed;  // by incarnation; the latest kMaxGoneNodes
  uint32_t round = 0;                              // 0: no round was closed yet
  uint32_t restart_count = 0;
  std::shared_ptr<const std::string> peer_list;  // the serialised peer list of `round`
  v1::PeerList peers;                            // the same list, parsed
  std::string digest;
  std::string master_address;
  uint32_t master_port = 0;
  std::optional<v1::Cause> first_failure;
  std::optional<v1::Cause> first_abort;     // why the first round that was given up ended
  std::optional<v1::Cause> last_abort;      // why the last one did
  uint32_t recent_restarts = 0;             // the number of restarts in the hour before the last restart
  std::optional<uint64_t> aborted_at_step;  // the highest step when the last round was given up
  bool has_given_up = false;                // the run fails because the restart budget is used up
  v1::Outcome outcome;                      // set once the run has ended
  RunStore store;
};

// A spare that left, although it may have begun to start processes. The next round waits for their end.
struct Unquit {
  uint64_t incarnation = 0;
  MonotonicTime end = MonotonicTime::Never();  // when its fence has ended them
};

// The part of a run that a crash of the scheduler loses.
struct RunRuntime {
  uint64_t handle = 0;
  std::string principal;  // the principal that opened it, as far as this scheduler process knows; see places.cc
  bool is_held = false;   // it counts in the principal's quota of jobs
  MonotonicTime opened;
  MonotonicTime aborted;  // when the last round was given up
  MonotonicTime topo_deadline = MonotonicTime::Never();
  MonotonicTime spare_deadline = MonotonicTime::Never();  // when spares may fill in
  MonotonicTime cause_deadline = MonotonicTime::Never();
  MonotonicTime settle_deadline = MonotonicTime::Never();
  MonotonicTime rejoin_deadline = MonotonicTime::Never();          // set while a node is lost
  MonotonicTime restart_at = MonotonicTime::Never();               // RECOVERING: the earliest time of the next round
  bool is_held_back = false;                                       // restart_at has not come yet; see Context::Schedule
  MonotonicTime progress_deadline = MonotonicTime::Never();        // when some process should have shown progress
  MonotonicTime first_progress_deadline = MonotonicTime::Never();  // the same, by --first_progress_timeout
  bool lacks_progress = false;  // no process had shown progress by then, and a warning was logged
  MonotonicTime looked;         // RECOVERING: when all nodes were last checked for the next round
  MonotonicTime look_deadline = MonotonicTime::Never();  // RECOVERING: the next check is put off until this time
  absl::Duration fence;  // the fence that agents were last sent, unless --fence_timeout is set; never gets shorter,
                         // because agents rely on it
  std::deque<MonotonicTime> restarts;    // the restarts of the last hour; one without progress is in it twice
  std::optional<uint64_t> highest_step;  // the highest step that any process has written
  std::map<std::string, Unquit> unquit;  // by node id: nodes that left although must_quit was set
  uint32_t round_elsewhere = 0;          // the highest round that an agent has reported
  bool is_looking_into_stall = false;    // its stacks are being gathered
  std::optional<v1::Cause> stall;        // set while it stands still, if stalls are only reported
  std::map<std::string, std::deque<MonotonicTime>> node_failures;  // by node id: failures that may come from it
  std::set<std::string> faulty_machines;  // a node was drained there for a fault: none of their spares stands in
  bool has_free_restart = false;          // the round was given up without the budget, for a node to be drained
  MonotonicTime stall_looked;             // when it was last checked whether the stall is over
  uint32_t halts_announced = 0;           // in this round
  uint32_t judged_round = 0;              // DrainBadNode has judged the end of this round
  uint32_t checks_asked_round = 0;        // AwaitsNodeCheck has asked for node checks after this round
  uint32_t holding_up = 0;                // RECOVERING: members that are disconnected, or have not quit
  MonotonicTime forget_at = MonotonicTime::Never();  // set once it has ended
  bool is_settled = false;
  std::vector<CauseCandidate> candidates;
  StoreWaits store_waits;  // empty unless its processes may use the store (store/caller.cc)
  // The runtimes of the entries of RunRecord::gone and RunRecord::removed. Evolve adds and erases them together with
  // the entries. After a crash the entries have no runtimes.
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
  // Makes a run that is in no State, to check whether such a run could be opened.
  Run(std::string job_id, v1::JobSettings settings) {
    record_.job_id = std::move(job_id);
    record_.settings = std::move(settings);
  }

  NodeTable nodes;

  const RunRecord& record() const { return record_; }

  // True if a round has closed and the run is not going to end.
  bool IsUnderWay() const {
    return record_.phase == v1::RUN_PHASE_RUNNING || record_.phase == v1::RUN_PHASE_RECOVERING;
  }
  // True if the run has recovery, and also while a person restarts it.
  bool Recovers() const { return record_.settings.enable_recovery() || record_.phase == v1::RUN_PHASE_RECOVERING; }
  bool HasEnded() const { return record_.phase == v1::RUN_PHASE_SUCCEEDED || record_.phase == v1::RUN_PHASE_FAILED; }
  // True if agents know a later round than the journal, so the journal is an older copy: see older_journal.h.
  bool IsRoundBehind() const { return round_elsewhere > record_.round; }
  bool RestartsAlone() const { return Recovers() && record_.settings.restart_scope() == "worker"; }
  bool OnlyReportsStalls() const { return record_.settings.stall_action() == "report"; }
  uint32_t MaxRestarts() const;
  // True once this run can only end: a join then opens the next run.
  bool IsOver() const { return HasEnded() || record_.phase == v1::RUN_PHASE_STOPPING; }
  uint32_t Needed(v1::Role role) const {
    return role == v1::ROLE_SERVER ? record_.settings.server_num() : record_.settings.worker_num();
  }
  GoneNodeRuntime RuntimeOfGone(const std::string& node_id) const;
  RemovedIncarnationRuntime RuntimeOfRemoved(uint64_t incarnation) const;
  // Updates `holding_up`. Call it after each change to the node's stream, quit_round, is_lost or is_spare. Thanks to
  // the count, the core need not look at all nodes each time that one of thousands quits. The count omits lost nodes,
  // because spares may stand in for them.
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
  // Jobs without any run, with the number of their last run: at most kMaxForgottenJobs. When the map is full, its first
  // job is dropped. lowest_last_run then rises to at least this job's number; it is a lower bound for all unknown jobs.
  std::map<std::string, uint64_t> forgotten_jobs;
  uint64_t lowest_last_run = 0;
  std::deque<std::shared_ptr<const v1::JobEvent>> event_log;  // at most kMaxLoggedEvents, oldest first
  uint64_t last_event_number = 0;
  size_t store_bytes = 0;                       // the bytes in the stores of all runs
  std::map<std::string, QuorumRecord> quorums;  // by lighthouse
};

// Evolve alone changes a Job and State::jobs; any code may change the runs' runtimes.
struct Job {
  uint64_t last_run = 0;
  std::map<uint64_t, Run> runs;
  Run* current() { return runs.empty() ? nullptr : &runs.rbegin()->second; }
};

// Sets the fields with which each record and answer about a run begins: job and run, and with a node its id.
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
// Returns "forming", "running", …; "stopped" for a run that a person has stopped.
const char* RunPhaseName(v1::RunPhase phase, const v1::Outcome& outcome);
inline const char* RunPhaseName(const RunRecord& run) { return RunPhaseName(run.phase, run.outcome); }

// "0-3,7"
std::string FormatRanks(std::vector<uint32_t> ranks);
// The ranks that a node holds now, in slot order.
std::vector<uint32_t> RanksOf(const Node& node);
// "node b (host-b, 10.0.0.2)"
std::string NodeText(const Node& node);

}  // namespace muster::scheduler
