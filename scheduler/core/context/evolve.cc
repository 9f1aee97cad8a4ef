// Each Apply changes the durable state as one kind of record says. It decides nothing and can't fail: a record is a
// fact.
#include "scheduler/core/context/evolve.h"

#include <algorithm>
#include <utility>

#include "common/base/limits.h"
#include "common/net/peer_node.h"
#include "scheduler/core/context/snapshot.h"
#include "scheduler/core/facts/event_log.h"

namespace muster::scheduler {
namespace {

void Apply(State& state, const v1::ClusterFounded& record, int64_t) { Edit(state).cluster_id = record.cluster_id(); }

void Apply(State& state, const v1::TermBegun& record, int64_t) { Edit(state).term = record.term(); }

void Apply(State& state, const v1::RunOpened& record, int64_t unix_ms) {
  Edit(state).forgotten_jobs.erase(record.job_id());
  Job& job = state.jobs[record.job_id()];
  job.last_run = std::max(job.last_run, record.run());
  Run& run = job.runs[record.run()];
  RunRecord& run_record = Edit(run);
  run_record.job_id = record.job_id();
  run_record.number = record.run();
  run_record.settings = record.settings();
  run_record.opened_by = record.opened_by();
  run_record.opened_unix_ms = unix_ms;
}

// Makes room in a full map of departures: erases the oldest entry and its runtime.
template <typename Departed, typename Runtimes>
void MakeRoom(Departed& departed, Runtimes& runtimes) {
  if (departed.size() < kMaxGoneNodes) return;
  const auto first = std::min_element(departed.begin(), departed.end(), [](const auto& a, const auto& b) {
    return a.second.departure < b.second.departure;
  });
  runtimes.erase(first->first);
  departed.erase(first);
}

void AddRemoved(Run& run, const Node& node, bool is_dead) {
  RunRecord& run_record = Edit(run);
  MakeRoom(run_record.removed, run.removed_runtimes);
  run_record.removed[node.record().incarnation] = {.is_dead = is_dead, .departure = ++run_record.departures};
  run.removed_runtimes[node.record().incarnation] = {.connect_seq = node.connect_seq};
}

// Ends all slots: no process of the node runs any more.
void EndSlots(Node& node) {
  for (SlotState& slot : Edit(node).slots) {
    if (slot.MayRun()) slot.phase = SlotState::Phase::kStopped;
    slot.pid = 0;
    slot.has_remains = false;
  }
}

void Remove(Run& run, const Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_dead) {
  RunRecord& run_record = Edit(run);
  MakeRoom(run_record.gone, run.gone_runtimes);
  run_record.gone[node.record().id] = GoneNode{.incarnation = node.record().incarnation,
                                               .why = why,
                                               .reason = reason,
                                               .host_name = node.record().info.host_name(),
                                               .address = node.record().info.address(),
                                               .role = node.record().info.role(),
                                               .identity = node.record().identity,
                                               .departure = ++run_record.departures};
  run.gone_runtimes[node.record().id] = {.was_seen = node.was_seen, .last_seen = node.last_seen};
  AddRemoved(run, node, is_dead);
  run_record.by_incarnation.erase(node.record().incarnation);
  run_record.spare_count -= node.record().is_spare ? 1 : 0;
  run_record.slot_counts.Remove(node.record().id, node.record().info, node.record().is_spare);
  run_record.lost.Remove(node);
  NodesOf(run).Erase(node.record().id);
}

void Apply(State& state, const v1::NodeJoined& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  Node& node = NodesOf(*run)[record.node_id()];
  NodeRecord& node_record = Edit(node);
  if (record.takes_over()) {
    run_record.slot_counts.Remove(node_record.id, node_record.info, node_record.is_spare);
    run_record.lost.Remove(node);
    run_record.by_incarnation.erase(node_record.incarnation);
    AddRemoved(*run, node, true);
    EndSlots(node);
    node_record.events_through = 0;
    node_record.last_change = 0;
    node_record.is_leaving = node_record.is_lost = false;
    node_record.draining_reason.clear();
    node_record.armed_fence = absl::ZeroDuration();
    node_record.quit_round = run_record.round;
    node_record.lost_reason.clear();
  } else {
    node_record.slots.assign(record.info().slots_size(), SlotState{});
  }
  node_record.id = record.node_id();
  node_record.incarnation = record.incarnation();
  node_record.info = record.info();
  node_record.settings = record.own_settings();
  node_record.identity = record.identity();
  node_record.is_assigned_id = record.is_assigned_id();
  node_record.is_spare = record.is_spare();
  run_record.spare_count += record.is_spare() ? 1 : 0;
  run_record.slot_counts.Add(node_record.id, node_record.info, node_record.is_spare);
  run_record.by_incarnation[record.incarnation()] = &node;
  run_record.gone.erase(record.node_id());
  run->gone_runtimes.erase(record.node_id());
  run_record.removed.erase(record.incarnation());
  run->removed_runtimes.erase(record.incarnation());
  run_record.settings = record.settings();
}

void Apply(State& state, const v1::NodeRemoved& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  const Node* node = run->nodes.Find(record.node_id());
  if (node == nullptr) return;
  Remove(*run, *node, record.why(), record.reason(), record.is_confirmed() || record.why() != v1::NodeRemoved::LOST);
  Edit(*run).settings = record.settings();
}

// Turns a spare into a regular member, which holds ranks.
void MakeRegular(Run& run, Node& node) {
  NodeRecord& node_record = Edit(node);
  RunRecord& run_record = Edit(run);
  if (!node_record.is_spare) return;
  run_record.slot_counts.Remove(node_record.id, node_record.info, true);
  node_record.is_spare = false;
  --run_record.spare_count;
  run_record.slot_counts.Add(node_record.id, node_record.info, false);
}

void Apply(State& state, const v1::RoundClosed& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  Edit(state).store_bytes -= run_record.store.bytes();
  run_record.store.ClearRound();
  Edit(state).store_bytes += run_record.store.bytes();
  run_record.phase = v1::RUN_PHASE_RUNNING;
  run_record.round = record.round();
  run_record.restart_count = record.restart_count();
  run_record.digest = record.digest();
  run_record.master_address = record.master_address();
  run_record.master_port = record.master_port();
  run_record.peer_list = std::make_shared<const std::string>(record.peer_list());
  run_record.peers.ParseFromString(record.peer_list());
  run->peer_index = nullptr;
  for (const std::string& id : record.promoted_spares()) {
    if (Node* spare = run->nodes.Find(id)) MakeRegular(*run, *spare);
  }
  for (const v1::Replacement& replacement : record.replacements()) {
    const Node* lost = run->nodes.Find(replacement.lost());
    Node* spare = run->nodes.Find(replacement.spare());
    if (lost == nullptr || spare == nullptr || lost == spare) continue;
    Remove(*run, *lost, lost->record().lost_why, lost->record().lost_reason, true);
    run_record.gone[replacement.lost()].was_replaced = true;
    MakeRegular(*run, *spare);
  }
  if (record.has_cause()) run_record.last_abort = record.cause();
  for (const v1::PeerNode& peer : run_record.peers.nodes()) {
    Node* node = run->nodes.Find(peer.node_id());
    if (node == nullptr) continue;
    for (int i = 0; i < SlotCount(peer) && i < static_cast<int>(Edit(*node).slots.size()); ++i) {
      Edit(*node).slots[i] = SlotState{.phase = SlotState::Phase::kAssigned, .rank = RankOf(peer, i)};
    }
  }
}

void ApplyProcessEnded(const v1::ProcessEnded& ended, SlotState& slot) {
  slot.pid = 0;
  if (ended.was_stopped()) {
    slot.phase = SlotState::Phase::kStopped;  // even with exit code 0: it did not finish its work
  } else if (ended.exit_code() == 0 && ended.signal() == 0) {
    slot.phase = SlotState::Phase::kDone;
    slot.has_remains = ended.has_remains();
  } else {
    slot.phase = SlotState::Phase::kFailed;
  }
}

void Apply(State& state, const v1::NodeReported& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  Node* found = run->nodes.Find(record.node_id());
  if (found == nullptr || found->record().incarnation != record.incarnation()) return;
  Node& node = *found;
  NodeRecord& node_record = Edit(node);
  if (record.has_armed_fence_ms()) node_record.armed_fence = absl::Milliseconds(record.armed_fence_ms());
  for (const v1::NodeEvent& event : record.events()) {
    node_record.events_through = event.number();
    if (event.has_leaving()) node_record.is_leaving = true;
    if (event.has_quit()) {
      node_record.quit_round = std::max(node_record.quit_round, std::min(event.quit().round(), run_record.round));
      if (node_record.quit_round >= run_record.round) EndSlots(node);
    }
    const bool is_start = event.has_started();
    if (!is_start && !event.has_ended()) continue;
    const uint32_t round = is_start ? event.started().round() : event.ended().round();
    const uint32_t index = is_start ? event.started().slot() : event.ended().slot();
    const uint32_t attempt = is_start ? event.started().attempt() : event.ended().attempt();
    if (round != run_record.round || index >= node_record.slots.size()) continue;
    SlotState& slot = node_record.slots[index];
    if (slot.phase == SlotState::Phase::kIdle || attempt != slot.attempt || slot.HasEnded()) continue;
    if (is_start) {
      slot.phase = SlotState::Phase::kRunning;
      slot.pid = event.started().pid();
    } else {
      ApplyProcessEnded(event.ended(), slot);
    }
  }
}

void Apply(State& state, const v1::RunFailing& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  run_record.phase = v1::RUN_PHASE_STOPPING;
  run_record.first_failure = record.first();
  run_record.has_given_up = record.has_given_up();
}

Node* FindNode(State& state, const std::string& job_id, uint64_t number, const std::string& node_id) {
  Run* run = state.FindRun(job_id, number);
  return run == nullptr ? nullptr : run->nodes.Find(node_id);
}

void Apply(State& state, const v1::NodeLost& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->record().incarnation != record.incarnation()) return;
  NodeRecord& node_record = Edit(*node);
  LostNodes& lost = Edit(*state.FindRun(record.job_id(), record.run())).lost;
  lost.Remove(*node);
  node_record.is_lost = true;
  node_record.lost_why = record.why();
  node_record.lost_reason = record.reason();
  node_record.stale_incarnation = record.is_confirmed() ? 0 : record.incarnation();
  node_record.stale_fence = absl::Milliseconds(record.armed_fence_ms());
  if (record.is_confirmed()) EndSlots(*node);
  lost.Add(*node);
}

void Apply(State& state, const v1::NodeDraining& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->record().incarnation != record.incarnation()) return;
  Edit(*node).draining_reason = record.is_draining() ? record.reason() : "";
}

void Apply(State& state, const v1::NodeRecertified& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->record().incarnation != record.incarnation()) return;
  Edit(*node).info.set_certificate_fingerprint(record.certificate_fingerprint());
}

void Apply(State& state, const v1::NodeReturned& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->record().incarnation != record.incarnation()) return;
  NodeRecord& node_record = Edit(*node);
  Edit(*state.FindRun(record.job_id(), record.run())).lost.Remove(*node);
  node_record.is_lost = false;
  node_record.lost_reason.clear();
  if (node_record.stale_incarnation == record.incarnation()) node_record.stale_incarnation = 0;
}

void Apply(State& state, const v1::IncarnationGone& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->record().stale_incarnation != record.incarnation()) return;
  NodeRecord& node_record = Edit(*node);
  LostNodes& lost = Edit(*state.FindRun(record.job_id(), record.run())).lost;
  lost.Remove(*node);
  node_record.stale_incarnation = 0;
  lost.Add(*node);
  if (node_record.incarnation == record.incarnation()) EndSlots(*node);
}

void Apply(State& state, const v1::RoundAborted& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  run_record.phase = v1::RUN_PHASE_RECOVERING;
  run_record.round = std::max(run_record.round, record.round());  // higher if the journal was an older copy
  if (!run_record.first_abort) run_record.first_abort = record.first();
  run_record.last_abort = record.first();
  run_record.recent_restarts = record.recent_restarts();
  if (record.has_highest_step()) run_record.aborted_at_step = record.highest_step();
}

void Apply(State& state, const v1::SlotRestarted& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || record.slot() >= node->record().slots.size()) return;
  NodeRecord& node_record = Edit(*node);
  SlotState& slot = node_record.slots[record.slot()];
  slot = SlotState{.phase = SlotState::Phase::kAssigned, .rank = slot.rank, .attempt = record.attempt()};
  if (record.has_cause()) {
    if (!Edit(*run).first_abort) Edit(*run).first_abort = record.cause();
    Edit(*run).last_abort = record.cause();
  }
  Edit(*run).recent_restarts = record.recent_restarts();
  ++Edit(*run).restart_count;
}

void Apply(State& state, const v1::RunEnded& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  run_record.phase = record.outcome().succeeded() ? v1::RUN_PHASE_SUCCEEDED : v1::RUN_PHASE_FAILED;
  run_record.outcome = record.outcome();
  Edit(state).store_bytes -= run_record.store.bytes();
  run_record.store.Clear();
}

void Apply(State& state, const v1::QuorumChanged& record, int64_t) {
  Edit(state).quorums[record.lighthouse()] = {record.quorum_id(),
                                              {record.replica_ids().begin(), record.replica_ids().end()}};
}

void Apply(State& state, const v1::StoreChanged& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  Edit(state).store_bytes -= run_record.store.bytes();
  if (record.has_value()) {
    v1::StoredValue value;
    value.set_key(record.key());
    value.set_value(record.value());
    value.set_lifetime(record.lifetime());
    value.set_writer(record.node_id());
    run_record.store.Put(std::move(value));
  } else {
    run_record.store.Erase(record.key());
  }
  Edit(state).store_bytes += run_record.store.bytes();
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (record.number() == 0 || node == nullptr || node->record().incarnation != record.incarnation()) return;
  Edit(*node).last_change = record.number();
  Edit(*node).last_sum = record.sum();
  Edit(*node).last_change_version = run_record.store.version();
}

void Apply(State& state, const v1::RunForgotten& record, int64_t) {
  const auto job = state.jobs.find(record.job_id());
  if (job == state.jobs.end()) return;
  job->second.runs.erase(record.run());
  if (!job->second.runs.empty()) return;
  if (Edit(state).forgotten_jobs.size() >= kMaxForgottenJobs) {
    Edit(state).lowest_last_run = std::max(Edit(state).lowest_last_run, Edit(state).forgotten_jobs.begin()->second);
    Edit(state).forgotten_jobs.erase(Edit(state).forgotten_jobs.begin());
  }
  Edit(state).forgotten_jobs[record.job_id()] = job->second.last_run;
  state.jobs.erase(job);
}

}  // namespace

std::vector<std::shared_ptr<const v1::JobEvent>> Evolve(State& state, const v1::Record& record) {
  std::vector<v1::JobEvent> lines = Describe(state, record);  // first: a line may mention what the record removes
  switch (record.kind_case()) {
    case v1::Record::kClusterFounded:
      Apply(state, record.cluster_founded(), record.unix_ms());
      break;
    case v1::Record::kTermBegun:
      Apply(state, record.term_begun(), record.unix_ms());
      break;
    case v1::Record::kRunOpened:
      Apply(state, record.run_opened(), record.unix_ms());
      break;
    case v1::Record::kNodeJoined:
      Apply(state, record.node_joined(), record.unix_ms());
      break;
    case v1::Record::kNodeRemoved:
      Apply(state, record.node_removed(), record.unix_ms());
      break;
    case v1::Record::kRoundClosed:
      Apply(state, record.round_closed(), record.unix_ms());
      break;
    case v1::Record::kNodeReported:
      Apply(state, record.node_reported(), record.unix_ms());
      break;
    case v1::Record::kRunFailing:
      Apply(state, record.run_failing(), record.unix_ms());
      break;
    case v1::Record::kRunEnded:
      Apply(state, record.run_ended(), record.unix_ms());
      break;
    case v1::Record::kRunForgotten:
      Apply(state, record.run_forgotten(), record.unix_ms());
      break;
    case v1::Record::kNodeLost:
      Apply(state, record.node_lost(), record.unix_ms());
      break;
    case v1::Record::kNodeReturned:
      Apply(state, record.node_returned(), record.unix_ms());
      break;
    case v1::Record::kIncarnationGone:
      Apply(state, record.incarnation_gone(), record.unix_ms());
      break;
    case v1::Record::kRoundAborted:
      Apply(state, record.round_aborted(), record.unix_ms());
      break;
    case v1::Record::kSlotRestarted:
      Apply(state, record.slot_restarted(), record.unix_ms());
      break;
    case v1::Record::kNodeDraining:
      Apply(state, record.node_draining(), record.unix_ms());
      break;
    case v1::Record::kNodeRecertified:
      Apply(state, record.node_recertified(), record.unix_ms());
      break;
    case v1::Record::kStoreChanged:
      Apply(state, record.store_changed(), record.unix_ms());
      break;
    case v1::Record::kQuorumChanged:
      Apply(state, record.quorum_changed(), record.unix_ms());
      break;
    case v1::Record::kSnapshot:
      state = FromSnapshot(record.snapshot());  // no pointers into it are kept yet
      break;
    case v1::Record::KIND_NOT_SET:
      break;
  }
  std::vector<std::shared_ptr<const v1::JobEvent>> logged;
  for (v1::JobEvent& line : lines) {
    line.set_number(++Edit(state).last_event_number);
    line.set_unix_ms(record.unix_ms());
    logged.push_back(std::make_shared<const v1::JobEvent>(std::move(line)));
    Edit(state).event_log.push_back(logged.back());
    if (Edit(state).event_log.size() > kMaxLoggedEvents) Edit(state).event_log.pop_front();
  }
  return logged;
}

}  // namespace muster::scheduler
