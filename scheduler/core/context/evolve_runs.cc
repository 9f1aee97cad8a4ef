// Apply for the records of runs, their rounds and their stores.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/net/peer_node.h"
#include "scheduler/core/context/evolve.h"
#include "scheduler/core/context/evolve_records.h"

namespace muster::scheduler {
namespace {

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

void Apply(State& state, const v1::RoundClosed& record) {
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

void Apply(State& state, const v1::RunFailing& record) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  run_record.phase = v1::RUN_PHASE_STOPPING;
  run_record.first_failure = record.first();
  run_record.has_given_up = record.has_given_up();
}

void Apply(State& state, const v1::RoundAborted& record) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  run_record.phase = v1::RUN_PHASE_RECOVERING;
  run_record.round = std::max(run_record.round, record.round());  // the record's may be higher: see older_journal.cc
  if (!run_record.first_abort) run_record.first_abort = record.first();
  run_record.last_abort = record.first();
  run_record.recent_restarts = record.recent_restarts();
  if (record.has_highest_step()) run_record.aborted_at_step = record.highest_step();
}

void Apply(State& state, const v1::SlotRestarted& record) {
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

void Apply(State& state, const v1::RunEnded& record) {
  Run* run = state.FindRun(record.job_id(), record.run());
  if (run == nullptr) return;
  RunRecord& run_record = Edit(*run);
  run_record.phase = record.outcome().succeeded() ? v1::RUN_PHASE_SUCCEEDED : v1::RUN_PHASE_FAILED;
  run_record.outcome = record.outcome();
  Edit(state).store_bytes -= run_record.store.bytes();
  run_record.store.Clear();
}

void Apply(State& state, const v1::StoreChanged& record) {
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

void Apply(State& state, const v1::RunForgotten& record) {
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

bool ApplyToRun(State& state, const v1::Record& record) {
  switch (record.kind_case()) {
    case v1::Record::kRunOpened:
      Apply(state, record.run_opened(), record.unix_ms());
      return true;
    case v1::Record::kRoundClosed:
      Apply(state, record.round_closed());
      return true;
    case v1::Record::kRunFailing:
      Apply(state, record.run_failing());
      return true;
    case v1::Record::kRoundAborted:
      Apply(state, record.round_aborted());
      return true;
    case v1::Record::kSlotRestarted:
      Apply(state, record.slot_restarted());
      return true;
    case v1::Record::kRunEnded:
      Apply(state, record.run_ended());
      return true;
    case v1::Record::kStoreChanged:
      Apply(state, record.store_changed());
      return true;
    case v1::Record::kRunForgotten:
      Apply(state, record.run_forgotten());
      return true;
    default:
      return false;
  }
}

}  // namespace muster::scheduler
