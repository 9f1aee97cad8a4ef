// Training progress: the steps that processes write to MS_PROGRESS_FILE, as their agents report them, and the processes
// that stand still.
//
// Only recent reports count. A report says for how long the agent has seen no change, so neither a broken connection
// nor a paused scheduler makes a process seem to stand still.
#include "scheduler/core/facts/progress.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "scheduler/core/facts/cause.h"

namespace muster::scheduler {
namespace {

constexpr size_t kMaxNamed = 8;
// A report counts as recent for this many heartbeats.
constexpr int kReportLag = 3;
// The time before the first step is at least this long, even if --progress_timeout is shorter: a healthy script imports
// modules and loads data before its first step.
constexpr absl::Duration kStartOfTraining = absl::Seconds(30);

std::string NameOf(const Node& node, uint32_t rank) {
  return absl::StrCat(node.record().info.role() == v1::ROLE_SERVER ? "server rank " : "rank ", rank, " on ",
                      node.record().info.host_name(), " (node ", node.record().id, ")");
}

std::string NameAll(const std::vector<Watched>& watched) {
  std::vector<std::string> names;
  for (const Watched& w : watched) {
    if (names.size() == kMaxNamed) break;
    names.push_back(NameOf(*w.node, w.rank));
  }
  if (watched.size() > names.size()) names.push_back(absl::StrCat(watched.size() - names.size(), " more"));
  return absl::StrJoin(names, ", ");
}

// Returns the lowest rank of the workers that have ended with exit code 0, and its node; null if there is none.
std::pair<const Node*, uint32_t> FirstDone(const Run& run) {
  std::pair<const Node*, uint32_t> first{nullptr, 0};
  for (const auto& [id, node] : run.nodes) {
    if (node.record().is_spare || node.record().info.role() != v1::ROLE_WORKER) continue;
    for (const SlotState& slot : node.record().slots) {
      if (slot.phase != SlotState::Phase::kDone) continue;
      if (first.first == nullptr || slot.rank < first.second) first = {&node, slot.rank};
    }
  }
  return first;
}

}  // namespace

const ProcessProgress* ProgressOf(const Run& run, const Node& node, size_t slot) {
  if (slot >= node.progress.size() || slot >= node.record().slots.size()) return nullptr;
  const ProcessProgress& progress = node.progress[slot];
  const bool is_present = run.record().phase == v1::RUN_PHASE_RUNNING && progress.round == run.record().round &&
                          progress.attempt == node.record().slots[slot].attempt &&
                          node.record().slots[slot].phase == SlotState::Phase::kRunning;
  return is_present ? &progress : nullptr;
}

std::vector<Watched> WatchedProcesses(const Run& run) {
  std::vector<Watched> watched;
  for (const auto& [id, node] : run.nodes) {
    for (size_t i = 0; i < node.progress.size(); ++i) {
      const ProcessProgress* progress = ProgressOf(run, node, i);
      if (progress != nullptr)
        watched.push_back({&node, static_cast<uint32_t>(i), node.record().slots[i].rank, progress});
    }
  }
  std::sort(watched.begin(), watched.end(), [](const Watched& a, const Watched& b) {
    const auto key = [](const Watched& w) {
      return std::make_tuple(w.progress->step.value_or(0), w.progress->changed, w.node->record().info.role(), w.rank);
    };
    return key(a) < key(b);
  });
  return watched;
}

std::vector<Watched> StandingStill(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval) {
  const absl::Duration timeout = absl::Milliseconds(run.record().settings.progress_timeout_ms());
  std::vector<Watched> watched = WatchedProcesses(run);
  std::erase_if(watched, [&](const Watched& w) {
    return now - w.progress->reported_at > kReportLag * heartbeat_interval ||
           w.progress->reported_at - w.progress->changed < timeout;
  });
  return watched;
}

CauseCandidate DescribeHang(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval,
                            const std::set<uint32_t>& stopped) {
  const absl::Duration timeout = absl::Milliseconds(run.record().settings.progress_timeout_ms());
  const std::vector<Watched> watched = WatchedProcesses(run);
  std::vector<Watched> standing = StandingStill(run, now, heartbeat_interval);
  CauseCandidate candidate = Decision(v1::Cause::NO_PROGRESS, "", "", now);
  v1::Cause& cause = candidate.cause;
  std::string text = absl::StrCat("no progress for ", FormatAge(timeout), " (--progress_timeout): ");
  std::vector<Watched> halted = standing;
  std::erase_if(halted, [&](const Watched& w) {
    return w.node->record().info.role() != v1::ROLE_WORKER || !stopped.contains(w.rank);
  });
  if (!halted.empty()) {
    absl::StrAppend(&text, NameAll(halted), halted.size() == 1 ? " is" : " are", " stopped, by a signal or a debugger");
    if (halted.front().progress->step) absl::StrAppend(&text, ", at step ", *halted.front().progress->step);
    standing = halted;
  } else if (!standing.empty() && standing.front().progress->step) {
    const uint64_t lowest = *standing.front().progress->step;
    const auto ahead = std::find_if(standing.begin(), standing.end(),
                                    [lowest](const Watched& w) { return w.progress->step != lowest; });
    standing.erase(ahead, standing.end());
    const auto others =
        std::count_if(watched.begin(), watched.end(), [lowest](const Watched& w) { return w.progress->step > lowest; });
    if (others == 0 && standing.size() > 1) {
      absl::StrAppend(&text, "all ", standing.size(), " ranks stand still at step ", lowest, ", longest ",
                      NameAll({standing.front()}));
    } else {
      absl::StrAppend(&text, NameAll(standing), standing.size() == 1 ? " stands" : " stand", " still at step ", lowest,
                      others == 0 ? "" : ", the others are ahead");
    }
  } else if (!standing.empty()) {
    absl::StrAppend(&text, NameAll(standing), standing.size() == 1 ? " has" : " have",
                    " not touched MS_PROGRESS_FILE since");
  }
  cause.set_text(std::move(text));
  if (!standing.empty()) {
    cause.set_rank(standing.front().rank);
    cause.set_role(standing.front().node->record().info.role());
    cause.set_node_id(standing.front().node->record().id);
    cause.set_host_name(standing.front().node->record().info.host_name());
  }
  cause.set_remedy(
      !halted.empty()
          ? "find out what stopped it (SIGSTOP, Ctrl-Z, a debugger); if this is on purpose, raise --progress_timeout"
          : "find out where the ranks stand (`ms-ctl stacks` while they run); --progress_timeout must be longer than "
            "the longest pause between two steps, including checkpoints and evaluations");
  return candidate;
}

absl::Duration FirstProgressLimit(const Run& run) {
  if (run.record().settings.progress_timeout_ms() == 0) return absl::InfiniteDuration();
  return std::max<absl::Duration>(absl::Milliseconds(run.record().settings.progress_timeout_ms()), kStartOfTraining);
}

bool IsUnwatched(const Run& run) {
  if (run.record().phase != v1::RUN_PHASE_RUNNING || !WatchedProcesses(run).empty()) return false;
  return std::any_of(run.nodes.begin(), run.nodes.end(), [](const auto& entry) {
    const std::vector<SlotState>& slots = entry.second.record().slots;
    return std::any_of(slots.begin(), slots.end(),
                       [](const SlotState& slot) { return slot.phase == SlotState::Phase::kRunning; });
  });
}

std::string DescribeUnwatched(const Run& run) {
  return absl::StrCat("no process has written to MS_PROGRESS_FILE yet: until one does, --progress_timeout (",
                      FormatAge(absl::Milliseconds(run.record().settings.progress_timeout_ms())),
                      ") can't detect a hang; have the script write its step there, or leave --progress_timeout out");
}

std::string WaitedFor(const Run& run) {
  if (run.record().phase != v1::RUN_PHASE_RUNNING) return "";
  if (const auto [node, rank] = FirstDone(run); node != nullptr) {
    return absl::StrCat(NameOf(*node, rank), ", which had ended with exit code 0 while others went on");
  }
  const std::vector<Watched> watched = WatchedProcesses(run);
  if (watched.empty() || !watched.front().progress->step || !run.highest_step) return "";
  const uint64_t step = *watched.front().progress->step;
  if (step >= *run.highest_step) return "";
  return absl::StrCat(NameOf(*watched.front().node, watched.front().rank), ", which was at step ", step,
                      " when others were at step ", *run.highest_step);
}

bool IsWithoutProgress(const Run& run) {
  return run.record().aborted_at_step && run.highest_step.value_or(0) <= *run.record().aborted_at_step;
}

v1::ProgressStatus ProgressView(const std::vector<Watched>& watched, MonotonicTime now) {
  v1::ProgressStatus status;
  status.set_watched(static_cast<uint32_t>(watched.size()));
  const std::optional<uint64_t> lowest = watched.front().progress->step;
  if (lowest) status.set_slowest_step(*lowest);
  MonotonicTime first = watched.front().progress->changed;
  for (const Watched& w : watched) {
    if (w.progress->step && *w.progress->step > status.fastest_step()) status.set_fastest_step(*w.progress->step);
    if (w.progress->step != lowest) continue;
    first = std::min(first, w.progress->changed);
    status.set_slowest_count(status.slowest_count() + 1);
    if (status.slowest_ranks_size() < static_cast<int>(kMaxNamed)) status.add_slowest_ranks(w.rank);
  }
  if (lowest && !status.has_fastest_step()) status.set_fastest_step(*lowest);
  status.set_since_progress_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(now - first)));
  return status;
}

}  // namespace muster::scheduler
