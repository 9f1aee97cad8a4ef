// How each record changes the durable state. Nothing is decided here, and nothing may fail: a record is a fact.
#include <algorithm>
#include <utility>

#include "common/base/limits.h"
#include "common/net/peer_node.h"
#include "scheduler/core/snapshot.h"
#include "scheduler/core/state.h"
#include "scheduler/core/views/event_log.h"

namespace muster::scheduler {
namespace {

void Apply(State& state, const v1::ClusterFounded& record, int64_t) { state.cluster_id = record.cluster_id(); }

void Apply(State& state, const v1::TermBegun& record, int64_t) { state.term = record.term(); }

void Apply(State& state, const v1::RunOpened& record, int64_t unix_ms) {
  state.forgotten_jobs.erase(record.job_id());
  Job& job = state.jobs[record.job_id()];
  job.last_run = std::max(job.last_run, record.run());
  Run& run = job.runs[record.run()];
  run.job_id = record.job_id();
  run.number = record.run();
  run.settings = record.settings();
  run.opened_by = record.opened_by();
  run.opened_unix_ms = unix_ms;
}

// Of a map with departures: the one that went first makes room.
template <typename Departed>
void MakeRoom(Departed& departed) {
  if (departed.size() < kMaxGoneNodes) return;
  departed.erase(std::min_element(departed.begin(), departed.end(), [](const auto& a, const auto& b) {
    return a.second.departure < b.second.departure;
  }));
}

void AddRemoved(Run& run, const Node& node, bool is_dead) {
  MakeRoom(run.removed);
  run.removed[node.incarnation] = {.is_dead = is_dead, .departure = ++run.departures, .connect_seq = node.connect_seq};
}

// What was running there runs no more.
void EndSlots(Node& node) {
  for (SlotState& slot : node.slots) {
    if (slot.MayRun()) slot.phase = SlotState::Phase::kStopped;
    slot.pid = 0;
  }
}

void Remove(Run& run, const Node& node, v1::NodeRemoved::Why why, const std::string& reason, bool is_dead) {
  MakeRoom(run.gone);
  run.gone[node.id] = GoneNode{.incarnation = node.incarnation,
                               .why = why,
                               .reason = reason,
                               .host_name = node.info.host_name(),
                               .address = node.info.address(),
                               .role = node.info.role(),
                               .identity = node.identity,
                               .departure = ++run.departures,
                               .last_seen = node.last_seen,
                               .was_seen = node.was_seen};
  AddRemoved(run, node, is_dead);
  run.by_incarnation.erase(node.incarnation);
  run.spare_count -= node.is_spare ? 1 : 0;
  run.slot_counts.Remove(node.id, node.info, node.is_spare);
  run.lost.Remove(node);
  run.nodes.Erase(node.id);
}

void Apply(State& state, const v1::NodeJoined& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  Node& node = run->nodes[record.node_id()];
  if (record.takes_over()) {
    run->slot_counts.Remove(node.id, node.info, node.is_spare);
    run->lost.Remove(node);
    run->by_incarnation.erase(node.incarnation);
    AddRemoved(*run, node, true);
    EndSlots(node);
    node.events_through = 0;
    node.last_change = 0;
    node.is_leaving = node.is_lost = false;
    node.draining_reason.clear();
    node.armed_fence = absl::ZeroDuration();
    node.quit_round = run->round;
    node.lost_reason.clear();
  } else {
    node.slots.assign(record.info().slots_size(), SlotState{});
  }
  node.id = record.node_id();
  node.incarnation = record.incarnation();
  node.info = record.info();
  node.settings = record.own_settings();
  node.identity = record.identity();
  node.is_assigned_id = record.is_assigned_id();
  node.is_spare = record.is_spare();
  run->spare_count += record.is_spare() ? 1 : 0;
  run->slot_counts.Add(node.id, node.info, node.is_spare);
  run->by_incarnation[record.incarnation()] = &node;
  run->gone.erase(record.node_id());
  run->removed.erase(record.incarnation());
  run->settings = record.settings();
}

void Apply(State& state, const v1::NodeRemoved& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  const Node* node = run->nodes.Find(record.node_id());
  if (node == nullptr) return;
  Remove(*run, *node, record.why(), record.reason(), record.is_confirmed() || record.why() != v1::NodeRemoved::LOST);
  run->settings = record.settings();
}

// A spare that holds ranks from now on.
void MakeRegular(Run& run, Node& node) {
  if (!node.is_spare) return;
  run.slot_counts.Remove(node.id, node.info, true);
  node.is_spare = false;
  --run.spare_count;
  run.slot_counts.Add(node.id, node.info, false);
}

void Apply(State& state, const v1::RoundClosed& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  state.store_bytes -= run->store.bytes();
  run->store.ClearRound();
  state.store_bytes += run->store.bytes();
  run->phase = v1::RUN_PHASE_RUNNING;
  run->round = record.round();
  run->restart_count = record.restart_count();
  run->digest = record.digest();
  run->master_address = record.master_address();
  run->master_port = record.master_port();
  run->peer_list = std::make_shared<const std::string>(record.peer_list());
  run->peers.ParseFromString(record.peer_list());
  run->peer_index = nullptr;
  for (const std::string& id : record.promoted_spares()) {
    if (Node* spare = run->nodes.Find(id)) MakeRegular(*run, *spare);
  }
  for (const v1::Replacement& replacement : record.replacements()) {
    const Node* lost = run->nodes.Find(replacement.lost());
    Node* spare = run->nodes.Find(replacement.spare());
    if (lost == nullptr || spare == nullptr || lost == spare) continue;
    Remove(*run, *lost, lost->lost_why, lost->lost_reason, true);
    run->gone[replacement.lost()].was_replaced = true;
    MakeRegular(*run, *spare);
  }
  if (record.has_cause()) run->last_abort = record.cause();
  for (const v1::PeerNode& peer : run->peers.nodes()) {
    Node* node = run->nodes.Find(peer.node_id());
    if (node == nullptr) continue;
    for (int i = 0; i < SlotCount(peer) && i < static_cast<int>(node->slots.size()); ++i) {
      node->slots[i] = SlotState{.phase = SlotState::Phase::kAssigned, .rank = RankOf(peer, i)};
    }
  }
}

void ApplyProcessEnded(const v1::ProcessEnded& ended, SlotState& slot) {
  slot.pid = 0;
  if (ended.was_stopped()) {
    slot.phase = SlotState::Phase::kStopped;  // also with exit code 0: it did not finish its work
  } else if (ended.exit_code() == 0 && ended.signal() == 0) {
    slot.phase = SlotState::Phase::kDone;
  } else {
    slot.phase = SlotState::Phase::kFailed;
  }
}

void Apply(State& state, const v1::NodeReported& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  Node* found = run->nodes.Find(record.node_id());
  if (found == nullptr || found->incarnation != record.incarnation()) return;
  Node& node = *found;
  if (record.has_armed_fence_ms()) node.armed_fence = absl::Milliseconds(record.armed_fence_ms());
  for (const v1::NodeEvent& event : record.events()) {
    node.events_through = event.number();
    if (event.has_leaving()) node.is_leaving = true;
    if (event.has_quit()) {
      node.quit_round = std::max(node.quit_round, std::min(event.quit().round(), run->round));
      if (node.quit_round >= run->round) EndSlots(node);
    }
    const bool is_start = event.has_started();
    if (!is_start && !event.has_ended()) continue;
    const uint32_t round = is_start ? event.started().round() : event.ended().round();
    const uint32_t index = is_start ? event.started().slot() : event.ended().slot();
    const uint32_t attempt = is_start ? event.started().attempt() : event.ended().attempt();
    if (round != run->round || index >= node.slots.size()) continue;
    SlotState& slot = node.slots[index];
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
  run->phase = v1::RUN_PHASE_STOPPING;
  run->first_failure = record.first();
  run->has_given_up = record.has_given_up();
}

Node* FindNode(State& state, const std::string& job_id, uint64_t number, const std::string& node_id) {
  Run* run = state.FindRun(job_id, number);
  return run == nullptr ? nullptr : run->nodes.Find(node_id);
}

void Apply(State& state, const v1::NodeLost& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->incarnation != record.incarnation()) return;
  LostNodes& lost = state.FindRun(record.job_id(), record.run())->lost;
  lost.Remove(*node);
  node->is_lost = true;
  node->lost_why = record.why();
  node->lost_reason = record.reason();
  node->stale_incarnation = record.is_confirmed() ? 0 : record.incarnation();
  node->stale_fence = absl::Milliseconds(record.armed_fence_ms());
  if (record.is_confirmed()) EndSlots(*node);
  lost.Add(*node);
}

void Apply(State& state, const v1::NodeDraining& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->incarnation != record.incarnation()) return;
  node->draining_reason = record.is_draining() ? record.reason() : "";
}

void Apply(State& state, const v1::NodeRecertified& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->incarnation != record.incarnation()) return;
  node->info.set_certificate_fingerprint(record.certificate_fingerprint());
}

void Apply(State& state, const v1::NodeReturned& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->incarnation != record.incarnation()) return;
  state.FindRun(record.job_id(), record.run())->lost.Remove(*node);
  node->is_lost = false;
  node->lost_reason.clear();
  if (node->stale_incarnation == record.incarnation()) node->stale_incarnation = 0;
}

void Apply(State& state, const v1::IncarnationGone& record, int64_t) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->stale_incarnation != record.incarnation()) return;
  LostNodes& lost = state.FindRun(record.job_id(), record.run())->lost;
  lost.Remove(*node);
  node->stale_incarnation = 0;
  lost.Add(*node);
  if (node->incarnation == record.incarnation()) EndSlots(*node);
}

void Apply(State& state, const v1::RoundAborted& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  run->phase = v1::RUN_PHASE_RECOVERING;
  if (!run->first_abort) run->first_abort = record.first();
  run->last_abort = record.first();
  run->recent_restarts = record.recent_restarts();
  if (record.has_highest_step()) run->aborted_at_step = record.highest_step();
}

void Apply(State& state, const v1::SlotRestarted& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || record.slot() >= node->slots.size()) return;
  SlotState& slot = node->slots[record.slot()];
  slot = SlotState{.phase = SlotState::Phase::kAssigned, .rank = slot.rank, .attempt = record.attempt()};
  if (record.has_cause()) {
    if (!run->first_abort) run->first_abort = record.cause();
    run->last_abort = record.cause();
  }
  run->recent_restarts = record.recent_restarts();
  ++run->restart_count;
}

void Apply(State& state, const v1::RunEnded& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  run->phase = record.outcome().succeeded() ? v1::RUN_PHASE_SUCCEEDED : v1::RUN_PHASE_FAILED;
  run->outcome = record.outcome();
  state.store_bytes -= run->store.bytes();
  run->store.Clear();
}

void Apply(State& state, const v1::StoreChanged& record, int64_t) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  state.store_bytes -= run->store.bytes();
  if (record.has_value()) {
    v1::StoredValue value;
    value.set_key(record.key());
    value.set_value(record.value());
    value.set_lifetime(record.lifetime());
    value.set_writer(record.node_id());
    run->store.Put(std::move(value));
  } else {
    run->store.Erase(record.key());
  }
  state.store_bytes += run->store.bytes();
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (record.number() == 0 || node == nullptr || node->incarnation != record.incarnation()) return;
  node->last_change = record.number();
  node->last_sum = record.sum();
  node->last_change_version = run->store.version();
}

void Apply(State& state, const v1::RunForgotten& record, int64_t) {
  const auto job = state.jobs.find(record.job_id());
  if (job == state.jobs.end()) return;
  job->second.runs.erase(record.run());
  if (!job->second.runs.empty()) return;
  if (state.forgotten_jobs.size() >= kMaxForgottenJobs) {
    state.lowest_last_run = std::max(state.lowest_last_run, state.forgotten_jobs.begin()->second);
    state.forgotten_jobs.erase(state.forgotten_jobs.begin());
  }
  state.forgotten_jobs[record.job_id()] = job->second.last_run;
  state.jobs.erase(job);
}

}  // namespace

std::shared_ptr<const v1::StoryEvent> Evolve(State& state, const v1::Record& record) {
  std::optional<v1::StoryEvent> line = Describe(state, record);  // before: it may speak of what the record removes
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
    case v1::Record::kSnapshot:
      state = FromSnapshot(record.snapshot());  // no pointers into it are kept yet
      break;
    case v1::Record::KIND_NOT_SET:
      break;
  }
  if (!line) return nullptr;
  line->set_number(++state.last_event_number);
  line->set_unix_ms(record.unix_ms());
  state.event_log.push_back(std::make_shared<const v1::StoryEvent>(*std::move(line)));
  if (state.event_log.size() > kMaxLoggedEvents) state.event_log.pop_front();
  return state.event_log.back();
}

}  // namespace muster::scheduler
