#include "scheduler/core/snapshot.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace muster::scheduler {
namespace {

v1::NodeSnapshot ToSnapshot(const Node& node) {
  v1::NodeSnapshot snapshot;
  v1::NodeJoined& joined = *snapshot.mutable_joined();
  joined.set_node_id(node.id);
  joined.set_incarnation(node.incarnation);
  *joined.mutable_info() = node.info;
  joined.set_identity(node.identity);
  joined.set_is_assigned_id(node.is_assigned_id);
  *joined.mutable_own_settings() = node.settings;
  joined.set_is_spare(node.is_spare);
  snapshot.set_events_through(node.events_through);
  snapshot.set_is_leaving(node.is_leaving);
  snapshot.set_is_lost(node.is_lost);
  snapshot.set_lost_why(node.lost_why);
  snapshot.set_lost_reason(node.lost_reason);
  snapshot.set_ghost(node.stale_incarnation);
  snapshot.set_quit_round(node.quit_round);
  snapshot.set_last_change(node.last_change);
  snapshot.set_last_sum(node.last_sum);
  snapshot.set_last_change_version(node.last_change_version);
  snapshot.set_draining_reason(node.draining_reason);
  snapshot.set_armed_fence_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(node.armed_fence)));
  snapshot.set_ghost_fence_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(node.stale_fence)));
  for (const SlotState& slot : node.slots) {
    v1::SlotSnapshot& s = *snapshot.add_slots();
    s.set_phase(static_cast<uint32_t>(slot.phase));
    s.set_rank(slot.rank);
    s.set_attempt(slot.attempt);
    s.set_pid(slot.pid);
  }
  return snapshot;
}

void FromSnapshot(const v1::NodeSnapshot& snapshot, Node& node) {
  const v1::NodeJoined& joined = snapshot.joined();
  node.id = joined.node_id();
  node.incarnation = joined.incarnation();
  node.info = joined.info();
  node.identity = joined.identity();
  node.is_assigned_id = joined.is_assigned_id();
  node.settings = joined.own_settings();
  node.is_spare = joined.is_spare();
  node.events_through = snapshot.events_through();
  node.is_leaving = snapshot.is_leaving();
  node.is_lost = snapshot.is_lost();
  node.lost_why = snapshot.lost_why();
  node.lost_reason = snapshot.lost_reason();
  node.stale_incarnation = snapshot.ghost();
  node.quit_round = snapshot.quit_round();
  node.last_change = snapshot.last_change();
  node.last_sum = snapshot.last_sum();
  node.last_change_version = snapshot.last_change_version();
  node.draining_reason = snapshot.draining_reason();
  node.armed_fence = absl::Milliseconds(snapshot.armed_fence_ms());
  node.stale_fence = absl::Milliseconds(snapshot.ghost_fence_ms());
  for (const v1::SlotSnapshot& slot : snapshot.slots()) {
    node.slots.push_back({.phase = static_cast<SlotState::Phase>(slot.phase()),
                          .rank = slot.rank(),
                          .attempt = slot.attempt(),
                          .pid = slot.pid()});
  }
}

// The entries of a map with departures in that order, which is all that a snapshot keeps of the numbers.
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
  snapshot.set_number(run.number);
  snapshot.set_phase(run.phase);
  *snapshot.mutable_settings() = run.settings;
  snapshot.set_opened_by(run.opened_by);
  snapshot.set_opened_unix_ms(run.opened_unix_ms);
  for (const auto& [id, node] : run.nodes) *snapshot.add_nodes() = ToSnapshot(node);
  for (const auto* entry : InOrder(run.gone)) {
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
  for (const auto* entry : InOrder(run.removed)) {
    const auto& [incarnation, removed] = *entry;
    v1::RemovedSnapshot& r = *snapshot.add_removed();
    r.set_incarnation(incarnation);
    r.set_is_dead(removed.is_dead);
  }
  snapshot.set_round(run.round);
  snapshot.set_restart_count(run.restart_count);
  if (run.peer_list != nullptr) snapshot.set_peer_list(*run.peer_list);
  snapshot.set_digest(run.digest);
  snapshot.set_master_address(run.master_address);
  snapshot.set_master_port(run.master_port);
  if (run.first_failure) *snapshot.mutable_first_failure() = *run.first_failure;
  if (run.first_abort) *snapshot.mutable_first_abort() = *run.first_abort;
  if (run.last_abort) *snapshot.mutable_last_abort() = *run.last_abort;
  snapshot.set_has_given_up(run.has_given_up);
  snapshot.set_recent_restarts(run.recent_restarts);
  if (run.aborted_at_step) snapshot.set_aborted_at_step(*run.aborted_at_step);
  if (run.HasEnded()) *snapshot.mutable_outcome() = run.outcome;
  snapshot.set_store_version(run.store.version());
  return snapshot;
}

void FromSnapshot(const v1::RunSnapshot& snapshot, Run& run) {
  run.number = snapshot.number();
  run.phase = snapshot.phase();
  run.settings = snapshot.settings();
  run.opened_by = snapshot.opened_by();
  run.opened_unix_ms = snapshot.opened_unix_ms();
  for (const v1::NodeSnapshot& n : snapshot.nodes()) {
    Node& node = run.nodes[n.joined().node_id()];
    FromSnapshot(n, node);
    run.spare_count += node.is_spare ? 1 : 0;
    run.slot_counts.Add(node.id, node.info, node.is_spare);
    run.lost.Add(node);
    run.by_incarnation[node.incarnation] = &node;
  }
  for (const v1::GoneSnapshot& gone : snapshot.gone()) {
    run.gone[gone.node_id()] = GoneNode{.incarnation = gone.incarnation(),
                                        .why = gone.why(),
                                        .reason = gone.reason(),
                                        .host_name = gone.host_name(),
                                        .address = gone.address(),
                                        .role = gone.role(),
                                        .identity = gone.identity(),
                                        .was_replaced = !gone.has_was_replaced() || gone.was_replaced(),
                                        .departure = ++run.departures,
                                        .last_seen = {},
                                        .was_seen = false};
  }
  for (const v1::RemovedSnapshot& removed : snapshot.removed()) {
    run.removed[removed.incarnation()] = {.is_dead = removed.is_dead(), .departure = ++run.departures};
  }
  run.round = snapshot.round();
  run.restart_count = snapshot.restart_count();
  if (run.round > 0) run.peer_list = std::make_shared<const std::string>(snapshot.peer_list());
  run.peers.ParseFromString(snapshot.peer_list());
  run.digest = snapshot.digest();
  run.master_address = snapshot.master_address();
  run.master_port = snapshot.master_port();
  if (snapshot.has_first_failure()) run.first_failure = snapshot.first_failure();
  if (snapshot.has_first_abort()) run.first_abort = snapshot.first_abort();
  if (snapshot.has_last_abort()) run.last_abort = snapshot.last_abort();
  run.has_given_up = snapshot.has_given_up();
  run.recent_restarts = snapshot.recent_restarts();
  if (snapshot.has_aborted_at_step()) run.aborted_at_step = snapshot.aborted_at_step();
  run.outcome = snapshot.outcome();
  for (const v1::StoredValue& value : snapshot.values()) run.store.Restore(value);
  run.store.RestoreVersion(snapshot.store_version());
}

}  // namespace

SnapshotDraft DraftSnapshot(const State& state) {
  SnapshotDraft draft;
  v1::Snapshot& snapshot = draft.snapshot;
  draft.store_bytes = state.store_bytes;
  snapshot.set_cluster_id(state.cluster_id);
  snapshot.set_term(state.term);
  for (const auto& [job_id, job] : state.jobs) {
    v1::JobSnapshot& j = *snapshot.add_jobs();
    j.set_job_id(job_id);
    j.set_last_run(job.last_run);
    for (const auto& [number, run] : job.runs) {
      *j.add_runs() = ToSnapshot(run);
      if (run.store.size() == 0) continue;
      SnapshotDraft::Values& store = draft.stores.emplace_back();
      store.job = snapshot.jobs_size() - 1;
      store.run = j.runs_size() - 1;
      store.values.reserve(run.store.size());
      for (const auto& [key, value] : run.store.values()) store.values.push_back(value);
    }
  }
  for (const auto& [job_id, last_run] : state.forgotten_jobs) {
    v1::JobSnapshot& j = *snapshot.add_forgotten_jobs();
    j.set_job_id(job_id);
    j.set_last_run(last_run);
  }
  snapshot.set_lowest_last_run(state.lowest_last_run);
  for (const auto& event : state.event_log) *snapshot.add_story() = *event;
  snapshot.set_last_story_number(state.last_event_number);
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
  state.cluster_id = snapshot.cluster_id();
  state.term = snapshot.term();
  for (const v1::JobSnapshot& j : snapshot.jobs()) {
    Job& job = state.jobs[j.job_id()];
    job.last_run = j.last_run();
    for (const v1::RunSnapshot& r : j.runs()) {
      Run& run = job.runs[r.number()];
      run.job_id = j.job_id();
      FromSnapshot(r, run);
      state.store_bytes += run.store.bytes();
    }
  }
  for (const v1::JobSnapshot& j : snapshot.forgotten_jobs()) state.forgotten_jobs[j.job_id()] = j.last_run();
  state.lowest_last_run = snapshot.lowest_last_run();
  for (const v1::StoryEvent& event : snapshot.story()) {
    state.event_log.push_back(std::make_shared<const v1::StoryEvent>(event));
  }
  state.last_event_number = snapshot.last_story_number();
  return state;
}

}  // namespace muster::scheduler
