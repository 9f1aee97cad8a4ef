#include "scheduler/core/context/snapshot.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "scheduler/core/context/evolve.h"

namespace muster::scheduler {
namespace {

v1::NodeSnapshot ToSnapshot(const Node& node) {
  v1::NodeSnapshot snapshot;
  v1::NodeJoined& joined = *snapshot.mutable_joined();
  joined.set_node_id(node.record().id);
  joined.set_incarnation(node.record().incarnation);
  *joined.mutable_info() = node.record().info;
  joined.set_identity(node.record().identity);
  joined.set_is_assigned_id(node.record().is_assigned_id);
  *joined.mutable_own_settings() = node.record().settings;
  joined.set_is_spare(node.record().is_spare);
  snapshot.set_events_through(node.record().events_through);
  snapshot.set_is_leaving(node.record().is_leaving);
  snapshot.set_is_lost(node.record().is_lost);
  snapshot.set_lost_why(node.record().lost_why);
  snapshot.set_lost_reason(node.record().lost_reason);
  snapshot.set_stale_incarnation(node.record().stale_incarnation);
  snapshot.set_quit_round(node.record().quit_round);
  snapshot.set_last_change(node.record().last_change);
  snapshot.set_last_sum(node.record().last_sum);
  snapshot.set_last_change_version(node.record().last_change_version);
  snapshot.set_draining_reason(node.record().draining_reason);
  snapshot.set_armed_fence_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(node.record().armed_fence)));
  snapshot.set_stale_fence_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(node.record().stale_fence)));
  for (const SlotState& slot : node.record().slots) {
    v1::SlotSnapshot& s = *snapshot.add_slots();
    s.set_phase(static_cast<uint32_t>(slot.phase));
    s.set_rank(slot.rank);
    s.set_attempt(slot.attempt);
    s.set_pid(slot.pid);
    s.set_has_remains(slot.has_remains);
  }
  return snapshot;
}

void FromSnapshot(const v1::NodeSnapshot& snapshot, Node& node) {
  NodeRecord& node_record = Edit(node);
  const v1::NodeJoined& joined = snapshot.joined();
  node_record.id = joined.node_id();
  node_record.incarnation = joined.incarnation();
  node_record.info = joined.info();
  node_record.identity = joined.identity();
  node_record.is_assigned_id = joined.is_assigned_id();
  node_record.settings = joined.own_settings();
  node_record.is_spare = joined.is_spare();
  node_record.events_through = snapshot.events_through();
  node_record.is_leaving = snapshot.is_leaving();
  node_record.is_lost = snapshot.is_lost();
  node_record.lost_why = snapshot.lost_why();
  node_record.lost_reason = snapshot.lost_reason();
  node_record.stale_incarnation = snapshot.stale_incarnation();
  node_record.quit_round = snapshot.quit_round();
  node_record.last_change = snapshot.last_change();
  node_record.last_sum = snapshot.last_sum();
  node_record.last_change_version = snapshot.last_change_version();
  node_record.draining_reason = snapshot.draining_reason();
  node_record.armed_fence = absl::Milliseconds(snapshot.armed_fence_ms());
  node_record.stale_fence = absl::Milliseconds(snapshot.stale_fence_ms());
  for (const v1::SlotSnapshot& slot : snapshot.slots()) {
    node_record.slots.push_back({.phase = static_cast<SlotState::Phase>(slot.phase()),
                                 .rank = slot.rank(),
                                 .attempt = slot.attempt(),
                                 .pid = slot.pid(),
                                 .has_remains = slot.has_remains()});
  }
}

// Returns the entries of a map of departures, the earliest departure first. A snapshot keeps only this order, not the
// numbers of the departures.
template <typename Departed>
std::vector<const typename Departed::value_type*> InOrder(const Departed& departed) {
  std::vector<const typename Departed::value_type*> entries;
  for (const auto& entry : departed) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return a->second.departure < b->second.departure; });
  return entries;
}

v1::RunSnapshot ToSnapshot(const Run& run) {
  v1::RunSnapshot snapshot;
  snapshot.set_number(run.record().number);
  snapshot.set_phase(run.record().phase);
  *snapshot.mutable_settings() = run.record().settings;
  snapshot.set_opened_by(run.record().opened_by);
  snapshot.set_opened_unix_ms(run.record().opened_unix_ms);
  for (const auto& [id, node] : run.nodes) *snapshot.add_nodes() = ToSnapshot(node);
  for (const auto* entry : InOrder(run.record().gone)) {
    const auto& [id, gone] = *entry;
    v1::GoneSnapshot& g = *snapshot.add_gone();
    g.set_node_id(id);
    g.set_incarnation(gone.incarnation);
    g.set_why(gone.why);
    g.set_reason(gone.reason);
    g.set_host_name(gone.host_name);
    g.set_address(gone.address);
    g.set_role(gone.role);
    g.set_identity(gone.identity);
    g.set_was_replaced(gone.was_replaced);
  }
  for (const auto* entry : InOrder(run.record().removed)) {
    const auto& [incarnation, removed] = *entry;
    v1::RemovedSnapshot& r = *snapshot.add_removed();
    r.set_incarnation(incarnation);
    r.set_is_dead(removed.is_dead);
  }
  snapshot.set_round(run.record().round);
  snapshot.set_restart_count(run.record().restart_count);
  if (run.record().peer_list != nullptr) snapshot.set_peer_list(*run.record().peer_list);
  snapshot.set_digest(run.record().digest);
  snapshot.set_master_address(run.record().master_address);
  snapshot.set_master_port(run.record().master_port);
  if (run.record().first_failure) *snapshot.mutable_first_failure() = *run.record().first_failure;
  if (run.record().first_abort) *snapshot.mutable_first_abort() = *run.record().first_abort;
  if (run.record().last_abort) *snapshot.mutable_last_abort() = *run.record().last_abort;
  snapshot.set_has_given_up(run.record().has_given_up);
  snapshot.set_recent_restarts(run.record().recent_restarts);
  if (run.record().aborted_at_step) snapshot.set_aborted_at_step(*run.record().aborted_at_step);
  if (run.HasEnded()) *snapshot.mutable_outcome() = run.record().outcome;
  snapshot.set_store_version(run.record().store.version());
  return snapshot;
}

void FromSnapshot(const v1::RunSnapshot& snapshot, Run& run) {
  RunRecord& run_record = Edit(run);
  run_record.number = snapshot.number();
  run_record.phase = snapshot.phase();
  run_record.settings = snapshot.settings();
  run_record.opened_by = snapshot.opened_by();
  run_record.opened_unix_ms = snapshot.opened_unix_ms();
  for (const v1::NodeSnapshot& n : snapshot.nodes()) {
    Node& node = NodesOf(run)[n.joined().node_id()];
    NodeRecord& node_record = Edit(node);
    FromSnapshot(n, node);
    run_record.spare_count += node_record.is_spare ? 1 : 0;
    run_record.slot_counts.Add(node_record.id, node_record.info, node_record.is_spare);
    run_record.lost.Add(node);
    run_record.by_incarnation[node_record.incarnation] = &node;
  }
  for (const v1::GoneSnapshot& gone : snapshot.gone()) {
    run_record.gone[gone.node_id()] = GoneNode{.incarnation = gone.incarnation(),
                                               .why = gone.why(),
                                               .reason = gone.reason(),
                                               .host_name = gone.host_name(),
                                               .address = gone.address(),
                                               .role = gone.role(),
                                               .identity = gone.identity(),
                                               .was_replaced = gone.was_replaced(),
                                               .departure = ++run_record.departures};
  }
  for (const v1::RemovedSnapshot& removed : snapshot.removed()) {
    run_record.removed[removed.incarnation()] = {.is_dead = removed.is_dead(), .departure = ++run_record.departures};
  }
  run_record.round = snapshot.round();
  run_record.restart_count = snapshot.restart_count();
  if (run_record.round > 0) run_record.peer_list = std::make_shared<const std::string>(snapshot.peer_list());
  run_record.peers.ParseFromString(snapshot.peer_list());
  run_record.digest = snapshot.digest();
  run_record.master_address = snapshot.master_address();
  run_record.master_port = snapshot.master_port();
  if (snapshot.has_first_failure()) run_record.first_failure = snapshot.first_failure();
  if (snapshot.has_first_abort()) run_record.first_abort = snapshot.first_abort();
  if (snapshot.has_last_abort()) run_record.last_abort = snapshot.last_abort();
  run_record.has_given_up = snapshot.has_given_up();
  run_record.recent_restarts = snapshot.recent_restarts();
  if (snapshot.has_aborted_at_step()) run_record.aborted_at_step = snapshot.aborted_at_step();
  run_record.outcome = snapshot.outcome();
  for (const v1::StoredValue& value : snapshot.values()) run_record.store.Restore(value);
  run_record.store.RestoreVersion(snapshot.store_version());
}

}  // namespace

SnapshotDraft DraftSnapshot(const State& state) {
  SnapshotDraft draft;
  v1::Snapshot& snapshot = draft.snapshot;
  draft.store_bytes = state.record().store_bytes;
  snapshot.set_cluster_id(state.record().cluster_id);
  snapshot.set_term(state.record().term);
  for (const auto& [job_id, job] : state.jobs) {
    v1::JobSnapshot& j = *snapshot.add_jobs();
    j.set_job_id(job_id);
    j.set_last_run(job.last_run);
    for (const auto& [number, run] : job.runs) {
      *j.add_runs() = ToSnapshot(run);
      if (run.record().store.size() == 0) continue;
      SnapshotDraft::Values& store = draft.stores.emplace_back();
      store.job = snapshot.jobs_size() - 1;
      store.run = j.runs_size() - 1;
      store.values.reserve(run.record().store.size());
      for (const auto& [key, value] : run.record().store.values()) store.values.push_back(value);
    }
  }
  for (const auto& [job_id, last_run] : state.record().forgotten_jobs) {
    v1::JobSnapshot& j = *snapshot.add_forgotten_jobs();
    j.set_job_id(job_id);
    j.set_last_run(last_run);
  }
  snapshot.set_lowest_last_run(state.record().lowest_last_run);
  for (const auto& event : state.record().event_log) *snapshot.add_events() = *event;
  snapshot.set_last_event_number(state.record().last_event_number);
  for (const auto& [lighthouse, quorum] : state.record().quorums) {
    v1::QuorumChanged& q = *snapshot.add_quorums();
    q.set_lighthouse(lighthouse);
    q.set_quorum_id(quorum.quorum_id);
    q.mutable_replica_ids()->Assign(quorum.replica_ids.begin(), quorum.replica_ids.end());
  }
  return draft;
}

v1::Snapshot Complete(SnapshotDraft draft) {
  for (const SnapshotDraft::Values& store : draft.stores) {
    v1::RunSnapshot& run = *draft.snapshot.mutable_jobs(store.job)->mutable_runs(store.run);
    for (const SharedValue& value : store.values) *run.add_values() = *value;
  }
  return std::move(draft.snapshot);
}

State FromSnapshot(const v1::Snapshot& snapshot) {
  State state;
  Edit(state).cluster_id = snapshot.cluster_id();
  Edit(state).term = snapshot.term();
  for (const v1::JobSnapshot& j : snapshot.jobs()) {
    Job& job = state.jobs[j.job_id()];
    job.last_run = j.last_run();
    for (const v1::RunSnapshot& r : j.runs()) {
      Run& run = job.runs[r.number()];
      RunRecord& run_record = Edit(run);
      run_record.job_id = j.job_id();
      FromSnapshot(r, run);
      Edit(state).store_bytes += run_record.store.bytes();
    }
  }
  for (const v1::JobSnapshot& j : snapshot.forgotten_jobs()) Edit(state).forgotten_jobs[j.job_id()] = j.last_run();
  Edit(state).lowest_last_run = snapshot.lowest_last_run();
  for (const v1::JobEvent& event : snapshot.events()) {
    Edit(state).event_log.push_back(std::make_shared<const v1::JobEvent>(event));
  }
  Edit(state).last_event_number = snapshot.last_event_number();
  for (const v1::QuorumChanged& quorum : snapshot.quorums()) {
    Edit(state).quorums[quorum.lighthouse()] = {quorum.quorum_id(),
                                                {quorum.replica_ids().begin(), quorum.replica_ids().end()}};
  }
  return state;
}

}  // namespace muster::scheduler
