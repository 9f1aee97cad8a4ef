#include "scheduler/core/state.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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
  const auto forgotten = forgotten_jobs.find(job_id);
  return forgotten == forgotten_jobs.end() ? lowest_last_run : forgotten->second;
}

bool Node::IsAllDone() const {
  return std::all_of(slots.begin(), slots.end(), [](const SlotState& s) { return s.phase == SlotState::Phase::kDone; });
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

const char* RunPhaseName(v1::RunPhase phase) {
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
      return "failed";
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
  for (const SlotState& slot : node.slots) {
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
  std::string text = absl::StrCat("cluster ", state.cluster_id, " term ", state.term, "\n");
  for (const auto& [job_id, job] : state.jobs) {
    absl::StrAppend(&text, "job ", job_id, " last_run ", job.last_run, "\n");
    for (const auto& [number, run] : job.runs) {
      absl::StrAppend(&text, " run ", number, " ", RunPhaseName(run.phase), " round ", run.round, " digest ",
                      absl::BytesToHexString(run.digest), " settings {", run.settings.ShortDebugString(), "}\n");
      if (run.first_failure) absl::StrAppend(&text, "  first failure ", run.first_failure->text(), "\n");
      absl::StrAppend(&text, "  restarts ", run.restart_count, " recent ", run.recent_restarts,
                      run.has_given_up ? " given up" : "",
                      run.aborted_at_step ? absl::StrCat(" at step ", *run.aborted_at_step) : "", "\n");
      if (run.first_abort) absl::StrAppend(&text, "  first abort ", run.first_abort->text(), "\n");
      if (run.last_abort) absl::StrAppend(&text, "  last abort ", run.last_abort->text(), "\n");
      if (run.HasEnded()) absl::StrAppend(&text, "  outcome {", run.outcome.ShortDebugString(), "}\n");
      for (const auto& [id, node] : run.nodes) {
        absl::StrAppend(&text, "  node ", id, " ", absl::Hex(node.incarnation), node.is_spare ? " spare" : "",
                        " events ", node.events_through, node.is_leaving ? " leaving" : "", node.is_lost ? " lost" : "",
                        node.stale_incarnation != 0 ? " haunted" : "", node.info.is_fence_guarded() ? "" : " unguarded",
                        " armed ", absl::FormatDuration(node.armed_fence), " ghost ",
                        absl::FormatDuration(node.stale_fence), " {", node.draining_reason, "} {", node.lost_reason,
                        "}", " quit ", node.quit_round);
        if (!node.identity.empty()) {
          absl::StrAppend(&text, " of ", node.identity, " ", node.info.certificate_fingerprint());
        }
        for (const SlotState& slot : node.slots) {
          absl::StrAppend(&text, " [", slot.rank, " ", SlotPhaseName(slot.phase), " ", slot.attempt, " ", slot.pid,
                          "]");
        }
        if (node.last_change != 0) {
          absl::StrAppend(&text, " change ", node.last_change, " sum ", node.last_sum, " version ",
                          node.last_change_version);
        }
        absl::StrAppend(&text, "\n");
      }
      AppendStore(text, run.store);
      for (const auto& [id, gone] : run.gone) {
        absl::StrAppend(&text, "  gone ", id, " ", absl::Hex(gone.incarnation), " ", gone.why, " ", gone.reason,
                        gone.was_replaced ? " replaced" : "",
                        gone.identity.empty() ? "" : absl::StrCat(" of ", gone.identity), "\n");
      }
    }
  }
  for (const auto& [job_id, last_run] : state.forgotten_jobs) {
    absl::StrAppend(&text, "forgotten job ", job_id, " last_run ", last_run, "\n");
  }
  absl::StrAppend(&text, "lowest last_run ", state.lowest_last_run, "\n");
  return text;
}

}  // namespace muster::scheduler
