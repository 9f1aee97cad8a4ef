// Apply for the records of nodes and their processes.
#include <algorithm>
#include <string>

#include "scheduler/core/context/evolve.h"
#include "scheduler/core/context/evolve_records.h"

namespace muster::scheduler {
namespace {

// If the map of departures is full, erases its oldest entry and the runtime of that entry.
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

void Apply(State& state, const v1::NodeJoined& record) {
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

void Apply(State& state, const v1::NodeRemoved& record) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  const Node* node = run->nodes.Find(record.node_id());
  if (node == nullptr) return;
  Remove(*run, *node, record.why(), record.reason(), record.is_confirmed() || record.why() != v1::NodeRemoved::LOST);
  Edit(*run).settings = record.settings();
}

void Apply(State& state, const v1::NodeReported& record) {
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

void Apply(State& state, const v1::NodeLost& record) {
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

void Apply(State& state, const v1::NodeDraining& record) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->record().incarnation != record.incarnation()) return;
  Edit(*node).draining_reason = record.is_draining() ? record.reason() : "";
}

void Apply(State& state, const v1::NodeRecertified& record) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->record().incarnation != record.incarnation()) return;
  Edit(*node).info.set_certificate_fingerprint(record.certificate_fingerprint());
}

void Apply(State& state, const v1::NodeReturned& record) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->record().incarnation != record.incarnation()) return;
  NodeRecord& node_record = Edit(*node);
  Edit(*state.FindRun(record.job_id(), record.run())).lost.Remove(*node);
  node_record.is_lost = false;
  node_record.lost_reason.clear();
  if (node_record.stale_incarnation == record.incarnation()) node_record.stale_incarnation = 0;
}

void Apply(State& state, const v1::IncarnationGone& record) {
  Node* node = FindNode(state, record.job_id(), record.run(), record.node_id());
  if (node == nullptr || node->record().stale_incarnation != record.incarnation()) return;
  NodeRecord& node_record = Edit(*node);
  LostNodes& lost = Edit(*state.FindRun(record.job_id(), record.run())).lost;
  lost.Remove(*node);
  node_record.stale_incarnation = 0;
  lost.Add(*node);
  if (node_record.incarnation == record.incarnation()) EndSlots(*node);
}

}  // namespace

Node* FindNode(State& state, const std::string& job_id, uint64_t number, const std::string& node_id) {
  Run* run = state.FindRun(job_id, number);
  return run == nullptr ? nullptr : run->nodes.Find(node_id);
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

void MakeRegular(Run& run, Node& node) {
  NodeRecord& node_record = Edit(node);
  RunRecord& run_record = Edit(run);
  if (!node_record.is_spare) return;
  run_record.slot_counts.Remove(node_record.id, node_record.info, true);
  node_record.is_spare = false;
  --run_record.spare_count;
  run_record.slot_counts.Add(node_record.id, node_record.info, false);
}

bool ApplyToNode(State& state, const v1::Record& record) {
  switch (record.kind_case()) {
    case v1::Record::kNodeJoined:
      Apply(state, record.node_joined());
      return true;
    case v1::Record::kNodeRemoved:
      Apply(state, record.node_removed());
      return true;
    case v1::Record::kNodeReported:
      Apply(state, record.node_reported());
      return true;
    case v1::Record::kNodeLost:
      Apply(state, record.node_lost());
      return true;
    case v1::Record::kNodeDraining:
      Apply(state, record.node_draining());
      return true;
    case v1::Record::kNodeRecertified:
      Apply(state, record.node_recertified());
      return true;
    case v1::Record::kNodeReturned:
      Apply(state, record.node_returned());
      return true;
    case v1::Record::kIncarnationGone:
      Apply(state, record.incarnation_gone());
      return true;
    default:
      return false;
  }
}

}  // namespace muster::scheduler
