#include "scheduler/core/state/state.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/causes/outcome.h"

namespace muster::scheduler {

Run* State::FindRun(const std::string& job_id, uint64_t run) {
  return const_cast<Run*>(static_cast<const State*>(this)->FindRun(job_id, run));
}

const Run* State::FindRun(const std::string& job_id, uint64_t run) const {
  const auto job = jobs.find(job_id);
  if (job == jobs.end()) return nullptr;
  const auto it = job->second.runs.find(run);
  return it == job->second.runs.end() ? nullptr : &it->second;
}

uint64_t State::LastRunOf(const std::string& job_id) const {
  if (const auto job = jobs.find(job_id); job != jobs.end()) return job->second.last_run;
  const auto forgotten = record_.forgotten_jobs.find(job_id);
  return forgotten == record_.forgotten_jobs.end() ? record_.lowest_last_run : forgotten->second;
}

bool Node::IsAllDone() const {
  return std::all_of(record_.slots.begin(), record_.slots.end(),
                     [](const SlotState& slot) { return slot.phase == SlotState::Phase::kDone; });
}

bool Node::HasNoProcesses() const {
  return IsAllDone() && std::none_of(record_.slots.begin(), record_.slots.end(),
                                     [](const SlotState& slot) { return slot.has_remains; });
}

uint32_t Run::MaxRestarts() const {
  constexpr uint32_t kDefault = 3;
  return record_.settings.has_max_restarts() ? record_.settings.max_restarts() : kDefault;
}

GoneNodeRuntime Run::RuntimeOfGone(const std::string& node_id) const {
  const auto it = gone_runtimes.find(node_id);
  return it == gone_runtimes.end() ? GoneNodeRuntime() : it->second;
}

RemovedIncarnationRuntime Run::RuntimeOfRemoved(uint64_t incarnation) const {
  const auto it = removed_runtimes.find(incarnation);
  return it == removed_runtimes.end() ? RemovedIncarnationRuntime() : it->second;
}

void Run::NoteReadiness(Node& node) {
  if (record_.phase != v1::RUN_PHASE_RECOVERING) return;
  const bool holds_up = !node.record().is_spare && !node.record().is_lost &&
                        (node.stream == 0 || node.record().quit_round < record_.round);
  if (holds_up == node.holds_up) return;
  node.holds_up = holds_up;
  holding_up += holds_up ? 1 : -1;
}

const char* RoleName(v1::Role role) { return role == v1::ROLE_SERVER ? "server" : "worker"; }

const char* SlotPhaseName(SlotState::Phase phase) {
  switch (phase) {
    case SlotState::Phase::kIdle:
      return "idle";
    case SlotState::Phase::kAssigned:
      return "assigned";
    case SlotState::Phase::kRunning:
      return "running";
    case SlotState::Phase::kDone:
      return "done";
    case SlotState::Phase::kFailed:
      return "failed";
    case SlotState::Phase::kStopped:
      return "stopped";
  }
  return "unknown";
}

const char* RunPhaseName(v1::RunPhase phase, const v1::Outcome& outcome) {
  switch (phase) {
    case v1::RUN_PHASE_FORMING:
      return "forming";
    case v1::RUN_PHASE_RUNNING:
      return "running";
    case v1::RUN_PHASE_RECOVERING:
      return "recovering";
    case v1::RUN_PHASE_STOPPING:
      return "stopping";
    case v1::RUN_PHASE_SUCCEEDED:
      return "succeeded";
    case v1::RUN_PHASE_FAILED:
      return WasStopped(outcome) ? "stopped" : "failed";
    default:
      return "unknown";
  }
}

std::string FormatRanks(std::vector<uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] <= ranks[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", ranks[i]);
    if (last > i) absl::StrAppend(&text, "-", ranks[last]);
    i = last + 1;
  }
  return text;
}

std::vector<uint32_t> RanksOf(const Node& node) {
  std::vector<uint32_t> ranks;
  for (const SlotState& slot : node.record().slots) {
    if (slot.phase != SlotState::Phase::kIdle) ranks.push_back(slot.rank);
  }
  return ranks;
}

namespace {

void AppendStore(std::string& text, const RunStore& store) {
  if (store.version() > 0) absl::StrAppend(&text, "  store ", store.version(), " bytes ", store.bytes(), "\n");
  for (const auto& [key, value] : store.values()) {
    absl::StrAppend(&text, "   ", absl::CEscape(key), " = ", absl::CEscape(value->value()),
                    value->lifetime() == v1::LIFETIME_RUN ? " for the run" : " for the round", " by ", value->writer(),
                    "\n");
  }
}

}  // namespace

std::string DebugText(const State& state) {
  std::string text = absl::StrCat("cluster ", state.record().cluster_id, " term ", state.record().term, "\n");
  for (const auto& [lighthouse, quorum] : state.record().quorums) {
    absl::StrAppend(&text, "lighthouse ", lighthouse, " quorum ", quorum.quorum_id, ":");
    for (const std::string& id : quorum.replica_ids) absl::StrAppend(&text, " ", id);
    absl::StrAppend(&text, "\n");
  }
  for (const auto& [job_id, job] : state.jobs) {
    absl::StrAppend(&text, "job ", job_id, " last_run ", job.last_run, "\n");
    for (const auto& [number, run] : job.runs) {
      absl::StrAppend(&text, " run ", number, " ", RunPhaseName(run.record()), " round ", run.record().round,
                      " digest ", absl::BytesToHexString(run.record().digest), " settings {",
                      run.record().settings.ShortDebugString(), "}\n");
      if (run.record().first_failure)
        absl::StrAppend(&text, "  first failure ", run.record().first_failure->text(), "\n");
      absl::StrAppend(&text, "  restarts ", run.record().restart_count, " recent ", run.record().recent_restarts,
                      run.record().has_given_up ? " given up" : "",
                      run.record().aborted_at_step ? absl::StrCat(" at step ", *run.record().aborted_at_step) : "",
                      "\n");
      if (run.record().first_abort) absl::StrAppend(&text, "  first abort ", run.record().first_abort->text(), "\n");
      if (run.record().last_abort) absl::StrAppend(&text, "  last abort ", run.record().last_abort->text(), "\n");
      if (run.HasEnded()) absl::StrAppend(&text, "  outcome {", run.record().outcome.ShortDebugString(), "}\n");
      for (const auto& [id, node] : run.nodes) {
        absl::StrAppend(&text, "  node ", id, " ", absl::Hex(node.record().incarnation),
                        node.record().is_spare ? " spare" : "", " events ", node.record().events_through,
                        node.record().is_leaving ? " leaving" : "", node.record().is_lost ? " lost" : "",
                        node.record().stale_incarnation != 0 ? " haunted" : "",
                        node.record().info.is_fence_guarded() ? "" : " unguarded", " armed ",
                        absl::FormatDuration(node.record().armed_fence), " ghost ",
                        absl::FormatDuration(node.record().stale_fence), " {", node.record().draining_reason, "} {",
                        node.record().lost_reason, "}", " quit ", node.record().quit_round);
        if (!node.record().identity.empty()) {
          absl::StrAppend(&text, " of ", node.record().identity, " ", node.record().info.certificate_fingerprint());
        }
        for (const SlotState& slot : node.record().slots) {
          absl::StrAppend(&text, " [", slot.rank, " ", SlotPhaseName(slot.phase), " ", slot.attempt, " ", slot.pid,
                          slot.has_remains ? " remains" : "", "]");
        }
        if (node.record().last_change != 0) {
          absl::StrAppend(&text, " change ", node.record().last_change, " sum ", node.record().last_sum, " version ",
                          node.record().last_change_version);
        }
        absl::StrAppend(&text, "\n");
      }
      AppendStore(text, run.record().store);
      for (const auto& [id, gone] : run.record().gone) {
        absl::StrAppend(&text, "  gone ", id, " ", absl::Hex(gone.incarnation), " ", gone.why, " ", gone.reason,
                        gone.was_replaced ? " replaced" : "",
                        gone.identity.empty() ? "" : absl::StrCat(" of ", gone.identity), "\n");
      }
    }
  }
  for (const auto& [job_id, last_run] : state.record().forgotten_jobs) {
    absl::StrAppend(&text, "forgotten job ", job_id, " last_run ", last_run, "\n");
  }
  absl::StrAppend(&text, "lowest last_run ", state.record().lowest_last_run, "\n");
  return text;
}

std::string NodeText(const Node& node) {
  return absl::StrCat("node ", node.record().id, " (", node.record().info.host_name(), ", ",
                      node.record().info.address(), ")");
}

}  // namespace muster::scheduler
