// Training progress: what processes write to MS_PROGRESS_FILE, or what --expect sees in their output, as their agents
// report it, and what it means when they stand still.
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
// The time allowed before the first step is at least this long, even if --progress_timeout is shorter: a healthy script
// imports modules and loads data before its first step.
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

// True if a stack of the worker, or the halted processes that its node reports, show that it is stopped.
bool IsStopped(const std::vector<StackGroup>& groups, const Watched& w) {
  if (w.node->record().info.role() != v1::ROLE_WORKER) return false;
  const auto is_halted = [&w](const HaltedOnNode& one) { return one.slot == w.slot && one.state == "T"; };
  if (std::any_of(w.node->halted.begin(), w.node->halted.end(), is_halted)) return true;
  return std::any_of(groups.begin(), groups.end(), [&](const StackGroup& group) {
    return group.is_stopped && std::find(group.ranks.begin(), group.ranks.end(), w.rank) != group.ranks.end();
  });
}

void Name(const Node& node, uint32_t rank, v1::Cause& cause) {
  cause.set_rank(rank);
  cause.set_role(node.record().info.role());
  cause.set_node_id(node.record().id);
  cause.set_host_name(node.record().info.host_name());
}

// Names the worker that the stacks point to, if there is one.
void NameSuspect(const Run& run, const StackFinding& finding, v1::Cause& cause) {
  if (!finding.suspect) return;
  for (const auto& [id, node] : run.nodes) {
    if (node.record().is_spare || node.record().info.role() != v1::ROLE_WORKER) continue;
    for (const SlotState& slot : node.record().slots) {
      if (slot.MayRun() && slot.rank == *finding.suspect) return Name(node, slot.rank, cause);
    }
  }
}

const char* StallRemedy(bool is_stopped) {
  if (is_stopped) {
    return "find out what stopped it (SIGSTOP, Ctrl-Z, a debugger); if this is on purpose, raise --progress_timeout";
  }
  return "look at the code there (`ms-ctl stacks` shows all threads while they run); --progress_timeout must be longer "
         "than the longest pause between two steps, including checkpoints and evaluations";
}

// Returns "; 12 lines of output could not be matched with --expect: …", for the end of a text.
std::string UnseenInWords(const Run& run) {
  uint64_t lines = 0;
  for (const auto& [id, node] : run.nodes) lines += node.unseen_lines;
  if (lines == 0) return "";
  return absl::StrCat("; ", lines, lines == 1 ? " line" : " lines",
                      " of output could not be matched with --expect: binary, longer than 4 KiB, or too many at once");
}

// Returns the slot's entry if it is about the process that runs there now.
template <typename Entry>
const Entry* PresentOf(const Run& run, const Node& node, size_t slot, const std::vector<Entry>& entries) {
  if (slot >= entries.size() || slot >= node.record().slots.size()) return nullptr;
  const bool is_present = run.record().phase == v1::RUN_PHASE_RUNNING && entries[slot].round == run.record().round &&
                          entries[slot].attempt == node.record().slots[slot].attempt &&
                          node.record().slots[slot].phase == SlotState::Phase::kRunning;
  return is_present ? &entries[slot] : nullptr;
}

}  // namespace

const ProcessProgress* ProgressOf(const Run& run, const Node& node, size_t slot) {
  return PresentOf(run, node, slot, node.progress);
}

const ProcessActivity* ActivityOf(const Run& run, const Node& node, size_t slot) {
  return PresentOf(run, node, slot, node.activity);
}

double StepsPerSecond(const ProcessProgress& before, const ProcessProgress& now) {
  const bool is_next = before.round == now.round && before.attempt == now.attempt && before.step && now.step &&
                       *now.step > *before.step && now.changed > before.changed;
  if (!is_next) {
    const bool is_same = before.round == now.round && before.attempt == now.attempt && before.step == now.step;
    return is_same ? before.steps_per_second : 0;
  }
  const double rate =
      static_cast<double>(*now.step - *before.step) / absl::ToDoubleSeconds(now.changed - before.changed);
  return before.steps_per_second == 0 ? rate : 0.7 * before.steps_per_second + 0.3 * rate;
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

std::vector<Watched> StandingStill(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval,
                                   absl::Duration less) {
  const absl::Duration timeout = absl::Milliseconds(run.record().settings.progress_timeout_ms());
  if (timeout == absl::ZeroDuration()) return {};
  std::vector<Watched> watched = WatchedProcesses(run);
  std::erase_if(watched, [&](const Watched& w) {
    return now - w.progress->reported_at > kReportLag * heartbeat_interval ||
           w.progress->reported_at - w.progress->changed < std::max(timeout - less, timeout / 2);
  });
  return watched;
}

CauseCandidate DescribeStall(const Run& run, MonotonicTime now, absl::Duration heartbeat_interval,
                             const std::vector<StackGroup>& groups) {
  const absl::Duration timeout = absl::Milliseconds(run.record().settings.progress_timeout_ms());
  const std::vector<Watched> watched = WatchedProcesses(run);
  // The last report of a process that stands still may be one heartbeat old.
  std::vector<Watched> standing = StandingStill(run, now, heartbeat_interval, heartbeat_interval);
  std::string text = absl::StrCat("no progress for ", FormatAge(timeout), " (--progress_timeout): ");
  const StackFinding finding = JudgeGroups(groups, run.record().peers.worker_num());
  std::vector<Watched> stopped = watched;
  std::erase_if(stopped, [&](const Watched& w) { return !IsStopped(groups, w); });
  const bool has_steps = std::all_of(watched.begin(), watched.end(),
                                     [](const Watched& w) { return w.progress->step && !w.progress->is_of_output; });
  bool is_named = true;
  if (!stopped.empty()) {
    absl::StrAppend(&text, NameAll(stopped), stopped.size() == 1 ? " is" : " are",
                    " stopped, by a signal or a debugger");
    if (has_steps) absl::StrAppend(&text, ", at step ", *stopped.front().progress->step);
    standing = stopped;
  } else if (!standing.empty() && has_steps) {
    const uint64_t lowest = *standing.front().progress->step;
    const auto ahead = std::find_if(standing.begin(), standing.end(),
                                    [lowest](const Watched& w) { return w.progress->step != lowest; });
    standing.erase(ahead, standing.end());
    const auto others =
        std::count_if(watched.begin(), watched.end(), [lowest](const Watched& w) { return w.progress->step > lowest; });
    is_named = others != 0;
    if (!is_named && standing.size() > 1) {
      absl::StrAppend(&text, "all ", standing.size(), " ranks stand still at step ", lowest, "; ",
                      NameAll({standing.front()}), " has done so longest");
    } else {
      absl::StrAppend(&text, NameAll(standing), standing.size() == 1 ? " stands" : " stand", " still at step ", lowest,
                      is_named ? ", the others are ahead" : "");
    }
  } else if (!standing.empty()) {
    is_named = false;  // numbers in the output need not be the same thing in all ranks
    absl::StrAppend(&text, NameAll(standing), standing.size() == 1 ? " shows" : " show", " nothing new");
  }
  if (stopped.empty() && !finding.text.empty()) absl::StrAppend(&text, "; ", finding.text);
  CauseCandidate candidate = Decision(v1::Cause::NO_PROGRESS, std::move(text),
                                      absl::StrCat(StallRemedy(!stopped.empty()), UnseenInWords(run)), now);
  if (!standing.empty()) Name(*standing.front().node, standing.front().rank, candidate.cause);
  if (stopped.empty() && !is_named) NameSuspect(run, finding, candidate.cause);
  return candidate;
}

CauseCandidate DescribeFirstStall(const Run& run, MonotonicTime now, const std::vector<StackGroup>& groups) {
  const StackFinding finding = JudgeGroups(groups, run.record().peers.worker_num());
  const absl::Duration timeout = absl::Milliseconds(run.record().settings.first_progress_timeout_ms());
  CauseCandidate candidate = Decision(
      v1::Cause::NO_PROGRESS,
      absl::StrCat("no process has shown progress within ", FormatAge(timeout),
                   " of the start (--first_progress_timeout)", finding.text.empty() ? "" : ": ", finding.text),
      absl::StrCat("find out where the ranks stand (`ms-ctl stacks` while they run); --first_progress_timeout must be "
                   "longer than loading, restoring and compiling take",
                   UnseenInWords(run)),
      now);
  NameSuspect(run, finding, candidate.cause);
  return candidate;
}

MonotonicTime FirstProgressDeadline(const Run& run, MonotonicTime now) {
  const uint64_t timeout_ms = run.record().settings.first_progress_timeout_ms();
  return timeout_ms == 0 ? MonotonicTime::Never() : now + absl::Milliseconds(timeout_ms);
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

bool LacksFirstProgress(const Run& run) {
  return IsUnwatched(run) && std::all_of(run.nodes.begin(), run.nodes.end(), [](const auto& entry) {
           const Node& node = entry.second;
           const std::vector<SlotState>& slots = node.record().slots;
           const bool is_any_done = std::any_of(
               slots.begin(), slots.end(), [](const SlotState& slot) { return slot.phase == SlotState::Phase::kDone; });
           return node.record().is_spare || (node.stream != 0 && node.has_reported && !is_any_done);
         });
}

std::string DescribeUnwatched(const Run& run) {
  return absl::StrCat(
      "no process has shown progress yet: until one does, --progress_timeout (",
      FormatAge(absl::Milliseconds(run.record().settings.progress_timeout_ms())),
      ") can't detect a hang; have the script write its step to MS_PROGRESS_FILE, or give ms-worker --expect with the "
      "line that the script prints at each step (--expect auto knows tqdm and others)",
      UnseenInWords(run));
}

std::string DescribeHalted(const Node& node, const HaltedOnNode& halted, MonotonicTime now) {
  const std::string what = absl::StrCat(NameOf(node, node.record().slots.at(halted.slot).rank), ": process ",
                                        halted.pid, " (", halted.name, ") ");
  const std::string age = FormatAge(now - halted.since);
  if (halted.state == "D") {
    return absl::StrCat(what, "has been in uninterruptible sleep for ", age,
                        halted.waits_in.empty() ? "" : absl::StrCat(", in the kernel's ", halted.waits_in),
                        ": a disk, a file server or a driver does not answer");
  }
  return absl::StrCat(what, "has been stopped for ", age, ", by a signal or a debugger: `kill -CONT ", halted.pid,
                      "` lets it go on");
}

std::string DescribeHalted(const Run& run, MonotonicTime now) {
  std::vector<std::string> halted;
  for (const auto& [id, node] : run.nodes) {
    if (node.stream == 0 || run.record().phase != v1::RUN_PHASE_RUNNING) continue;
    for (const HaltedOnNode& one : node.halted) {
      if (one.slot < node.record().slots.size() && halted.size() < kMaxNamed) {
        halted.push_back(DescribeHalted(node, one, now));
      }
    }
  }
  return absl::StrJoin(halted, "; ");
}

std::string WaitedFor(const Run& run) {
  if (run.record().phase != v1::RUN_PHASE_RUNNING) return "";
  if (const auto [node, rank] = FirstDone(run); node != nullptr) {
    return absl::StrCat(NameOf(*node, rank), ", which had ended with exit code 0 while others went on");
  }
  const std::vector<Watched> watched = WatchedProcesses(run);
  if (watched.empty() || !watched.front().progress->step || !run.highest_step) return "";
  if (watched.front().progress->is_of_output) return "";
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
