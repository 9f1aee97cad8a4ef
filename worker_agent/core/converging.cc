// Starts the processes that the scheduler's order (the desired state) wants, and stops those that must end for it.
//
//   state                                     what the agent does
//   the agent ends                            stops all processes
//     … by SIGINT                             interrupts them first, if passes_interrupt is set
//   desired: RUNNING with an assignment       starts each free slot that had no process of its attempt. Waits before:
//     … if another round has processes        until these were stopped and nothing is left
//     … if a process was asked to stop        until nothing of it is left
//     … if the slot has remains               until they are gone; after stop_timeout + 10 s the agent ends
//     … while the node check runs             until it has ended
//     … if the fence is down                  until an answer of the scheduler has armed it again
//     … if the peer list is not here          until it was fetched and its digest fits
//   desired: RECOVERING                       stops all; when nothing is left and the keeper lives, reports "quit"
//     … and it asks for the node check        runs that; reports that it has passed, or leaves the job
//   desired: STOPPING as planned              stops all, and reports "quit" in the same way
//   desired: anything else                    stops all
//   the keeper is dead                        leaves the job, unless an outcome may still come
//   processes left after stop_timeout + 5 s   kills them; 5 s later names those that are left by rank and pid, and ends
//   the agent ends, and all are unkillable    names them, and ends at once
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/exit_codes.h"
#include "common/base/limits.h"
#include "worker_agent/core/impl.h"
#include "worker_agent/core/messages.h"

namespace muster::agent {
namespace {

bool NeedsPeers(const v1::Assignment& assignment, bool wants_whole_list) {
  const bool is_large = assignment.worker_num() + assignment.server_num() > kMaxRanksInClusterFile;
  // (Rank 0's agent serves PyTorch's store to the machines in the list.)
  const bool serves_store =
      assignment.has_torch_store() && assignment.role() == v1::ROLE_WORKER &&
      std::any_of(assignment.slots().begin(), assignment.slots().end(), [](const auto& s) { return s.rank() == 0; });
  return !is_large || wants_whole_list || serves_store;
}

}  // namespace

void AgentCore::Impl::Converge() {
  peers_.Release();
  if (desired_.has_outcome() && !(ending_ && ending_->kind == Ending::Kind::kOutcome)) EndByOutcome();
  if (ending_) {
    stopping_.StopAll(now_, effects_);
  } else if (desired_.phase() == v1::RUN_PHASE_RUNNING && desired_.has_assignment()) {
    StartRound();
  } else {
    stopping_.NoteHeldUp(false, now_);
    stopping_.StopAll(now_, effects_);
  }
  QuitRound();
  CheckNodeIfAsked();
  if (is_keeper_dead_ && !ending_) LeaveWithoutKeeper();
  StopPatiently();
}

// Reports once for each round that this node has quit it, which means that none of its processes is left. The next
// round waits for this report of every node, and so does the end of a job that is stopped as planned. So a node that
// has started nothing sends it, too.
void AgentCore::Impl::QuitRound() {
  const bool is_planned = desired_.phase() == v1::RUN_PHASE_STOPPING && desired_.is_planned_stop();
  if ((desired_.phase() != v1::RUN_PHASE_RECOVERING && !is_planned) || quit_round_ >= desired_.round()) return;
  if (ending_ || is_keeper_dead_ || processes_.IsAnyLeft()) return;
  quit_round_ = desired_.round();
  v1::NodeEvent event;
  event.mutable_quit()->set_round(quit_round_);
  reporter_.Add(std::move(event), now_);
}

void AgentCore::Impl::CheckNodeIfAsked() {
  if (!desired_.check_node() || desired_.phase() != v1::RUN_PHASE_RECOVERING || ending_ || is_checking_) return;
  if (checked_round_ == desired_.round() || quit_round_ != desired_.round() || is_keeper_dead_) return;
  checked_round_ = desired_.round();
  is_checking_ = true;
  Emit(CheckNode{});
}

void AgentCore::Impl::ReportNodeCheck() {
  v1::NodeEvent event;
  event.mutable_checked()->set_round(checked_round_);
  reporter_.Add(std::move(event), now_);
}

void AgentCore::Impl::OnEvent(const NodeChecked& event) {
  is_checking_ = false;
  if (ending_) return;
  if (event.status.ok()) return ReportNodeCheck();
  const std::string why(event.status.message());
  Leave(kExitRefused, 0, why, Say{Severity::kError, absl::StrCat("this node leaves the job: ", why)});
}

void AgentCore::Impl::StartRound() {
  stopping_.NoteHeldUp(IsAnySlotHeldUp(), now_);
  if (now_ >= stopping_.HeldUpDeadline()) {
    EndHopeless(kExitStuck, SayStuck(NameAllLeft(processes_), membership_.node_id));
    return stopping_.StopAll(now_, effects_);
  }
  if (processes_.IsAnyLeftOutside(desired_.round())) return stopping_.StopAll(now_, effects_);
  if (stopping_.IsUnderWay()) return;  // processes that were asked to stop must end first
  if (is_checking_) return;            // the check may use the devices; a scheduler that was restarted forgets it
  if (fence_.IsDown(now_)) return;     // the order may be from before the fall; the answer to the next report decides
  const std::vector<uint32_t> slots = SlotsToStart();
  if (slots.empty() || is_keeper_dead_) return;
  if (NeedsPeers(desired_.assignment(), options_.wants_whole_peer_list) && !peers_.Have(desired_, now_, effects_))
    return;
  if (options_.has_command) {
    LaunchSlots(slots);
  } else {
    PrintAndReport(slots);
  }
}

// True if a slot waits for the remains of its last process.
bool AgentCore::Impl::IsAnySlotHeldUp() const {
  const v1::Assignment& assignment = desired_.assignment();
  for (int i = 0; i < assignment.slots_size(); ++i) {
    const auto slot = static_cast<uint32_t>(i);
    const ProcessKey next{slot, desired_.round(), assignment.slots(i).attempt()};
    if (assignment.slots(i).should_run() && !processes_.WasLaunched(next) && processes_.IsSlotHeldUp(slot)) return true;
  }
  return false;
}

std::vector<uint32_t> AgentCore::Impl::SlotsToStart() const {
  std::vector<uint32_t> slots;
  const v1::Assignment& assignment = desired_.assignment();
  for (int i = 0; i < assignment.slots_size(); ++i) {
    const auto slot = static_cast<uint32_t>(i);
    if (!assignment.slots(i).should_run() || processes_.IsSlotTaken(slot)) continue;
    if (processes_.WasLaunched({slot, desired_.round(), assignment.slots(i).attempt()})) continue;
    slots.push_back(slot);
  }
  return slots;
}

void AgentCore::Impl::LaunchSlots(const std::vector<uint32_t>& slots) {
  for (const uint32_t slot : slots) {
    const v1::SlotAssignment& assigned = desired_.assignment().slots(static_cast<int>(slot));
    processes_.Launched({slot, desired_.round(), assigned.attempt()}, assigned.rank());
  }
  Emit(SayRound(desired_, slots));
  Emit(Launch{desired_, peers_.Of(desired_.round()), slots});
}

void AgentCore::Impl::PrintAndReport(const std::vector<uint32_t>& slots) {
  if (printed_round_ != desired_.round()) {
    printed_round_ = desired_.round();
    Emit(PrintAssignment{desired_, peers_.Of(desired_.round())});
  }
  for (const uint32_t slot : slots) {
    const v1::SlotAssignment& assigned = desired_.assignment().slots(static_cast<int>(slot));
    const ProcessKey key{slot, desired_.round(), assigned.attempt()};
    processes_.Launched(key, assigned.rank());
    ReportEnd(key, {}, absl::ZeroDuration());
  }
}

void AgentCore::Impl::StopPatiently() {
  if (!stopping_.IsUnderWay() || !processes_.IsAnyLeft()) return;
  const bool is_hopeless = ending_ && processes_.IsAllStuck();
  if (!is_hopeless && now_ < stopping_.StopDeadline()) return;
  if (is_hopeless || stopping_.was_killed()) {
    // The keeper answers, and still sees these processes. If it did not answer, it would have been given up long before
    // (KeeperSilent, then KeeperDied).
    Say stuck = SayStuck(NameAllLeft(processes_), membership_.node_id);
    if (ending_) {  // the exit code of ending_ stays
      Emit(std::move(stuck));
    } else {
      EndHopeless(kExitStuck, std::move(stuck));
    }
    return FinishNow();
  }
  stopping_.KillAll(now_, effects_);
}

}  // namespace muster::agent
