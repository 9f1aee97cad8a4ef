// | a process's mark      | its environment  | conclusion                                                            |
// |-----------------------|------------------|-----------------------------------------------------------------------|
// | the former start's    | any              | it is of the former start: `left`; SIGKILL if it is this user's       |
// | another, or none      | has the secret   | the same; a privileged process has reset its limit                    |
// | none; its limit is    | not checked      | `unclear`, unless it is older than the former start: it may have been |
// | below all marks       |                  | marked and have lowered the limit                                     |
// | another, or none      | no secret        | it is not of the former start                                         |
// | can't be read         | not checked      | `unclear`                                                             |
// | the process has ended |                  | nothing                                                               |
//
// An environment without the secret proves nothing: a process may clear or hide its environment, and reading it may
// hang.
#include "worker_agent/node/orphans.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/sys/wait.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/keeper/process/descendants.h"
#include "worker_agent/launch/environment/environment.h"
#include "worker_agent/node/proc_view.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLookPause = absl::Milliseconds(20);

std::set<pid_t> ThisAndAbove() {
  std::set<pid_t> pids = {getpid()};
  std::optional<ProcessInfo> process = ReadProcess(getpid());
  while (process && process->parent > 0 && pids.insert(process->parent).second) process = ReadProcess(process->parent);
  return pids;
}

// Returns the process's real user. (The owner of /proc/<pid> is not it: that is root for a process that others may not
// inspect.)
std::optional<uid_t> UserOf(pid_t pid) {
  uid_t uid = 0;
  const std::vector<std::string> words = absl::StrSplit(StatusRow(pid, "Uid"), '\t');
  return absl::SimpleAtoi(words[0], &uid) ? std::optional(uid) : std::nullopt;
}

class Search {
 public:
  explicit Search(const StartSigns& former)
      : mark_(*former.mark),
        text_(absl::StrCat(kStartVariable, "=", former.secret)),
        not_before_(former.not_before),
        spared_(ThisAndAbove()) {}
  ~Search() {
    for (const pid_t pid : stuck_) Keeper::Spare(pid);  // it hangs in the kernel, so no signal can end it
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Goes once through all processes. Returns those of the former start, and kills those that it may.
  Orphans Look(MonotonicTime deadline);

 private:
  using Key = std::pair<pid_t, uint64_t>;  // pid and start time

  void LookAtMark(pid_t pid, Orphans& found, std::vector<pid_t>& unmarked) const;
  void LookAtEnvironments(const std::vector<pid_t>& unmarked, MonotonicTime deadline, Orphans& found);
  void End(pid_t pid, const char* how_known, Orphans& found) const;
  bool MayHaveLowered(pid_t pid, uint64_t limit) const;

  const ProcessMark mark_;
  const std::string text_;
  const uint64_t not_before_;
  const std::set<pid_t> spared_;
  std::set<Key> slow_;   // reading its environment has hung once
  std::set<Key> hangs_;  // it has hung twice, so it isn't read again
  std::vector<pid_t> stuck_;
};

void Search::End(pid_t pid, const char* how_known, Orphans& found) const {
  const std::optional<ProcessInfo> process = ReadProcess(pid);
  if (!process || process->is_dead) return;
  const std::optional<uid_t> user = UserOf(pid);
  const bool is_ours = user == geteuid();
  if (is_ours) SignalExactly(*process, SIGKILL);
  found.left.push_back({pid, absl::StrCat(process->name, " of uid ", user ? absl::StrCat(*user) : "?", ", ", how_known,
                                          is_ours ? ", killed" : ", not this user's to kill")});
}

bool Search::MayHaveLowered(pid_t pid, uint64_t limit) const {
  if (!ProcessMark::IsBelowMarks(limit)) return false;
  const std::optional<ProcessInfo> process = ReadProcess(pid);
  if (!process || process->is_dead || process->start_time < not_before_) return false;
  return getuid() == 0 || UserOf(pid) == getuid();
}

void Search::LookAtMark(pid_t pid, Orphans& found, std::vector<pid_t>& unmarked) const {
  const absl::StatusOr<uint64_t> limit = RealTimeLimitOf(pid);
  if (absl::IsNotFound(limit.status())) return;
  if (!limit.ok()) {
    found.unclear.push_back({pid, std::string(limit.status().message())});
  } else if (mark_.Covers(*limit)) {
    End(pid, "by its mark", found);
  } else if (MayHaveLowered(pid, *limit)) {
    found.unclear.push_back(
        {pid, absl::StrCat("its limit RLIMIT_RTTIME is ", *limit, " µs, which may have been a mark")});
  } else {
    unmarked.push_back(pid);
  }
}

void Search::LookAtEnvironments(const std::vector<pid_t>& unmarked, MonotonicTime deadline, Orphans& found) {
  std::vector<pid_t> asked;
  std::vector<Key> keys;
  for (const pid_t pid : unmarked) {
    const std::optional<ProcessInfo> process = ReadProcess(pid);
    if (!process || process->is_dead || hangs_.contains(Key(pid, process->start_time))) continue;
    asked.push_back(pid);
    keys.emplace_back(pid, process->start_time);
  }
  const std::vector<EnvironSight> sights = SearchEnvirons(asked, text_, deadline, stuck_);
  for (size_t i = 0; i < asked.size(); ++i) {
    if (sights[i] == EnvironSight::kHasIt) End(asked[i], "by its environment", found);
    // A process counts as hanging only the second time: the first time, the machine may just have been busy.
    if (sights[i] == EnvironSight::kHangs && !slow_.insert(keys[i]).second) hangs_.insert(keys[i]);
  }
}

Orphans Search::Look(MonotonicTime deadline) {
  Orphans found;
  const absl::StatusOr<std::vector<pid_t>> pids = AllPids();
  if (!pids.ok()) {
    found.blind = std::string(pids.status().message());
    return found;
  }
  std::vector<pid_t> unmarked;
  for (const pid_t pid : *pids) {
    if (!spared_.contains(pid)) LookAtMark(pid, found, unmarked);
  }
  LookAtEnvironments(unmarked, deadline, found);
  return found;
}

}  // namespace

Orphans EndOrphans(const StartSigns& former, absl::Duration patience) {
  Orphans found;
  if (!former.mark || former.secret.empty()) {
    found.blind = "they carry no mark to recognise them by";
    return found;
  }
  Search search(former);
  const MonotonicTime deadline = Clock::System().Read().monotonic + patience;
  for (int looks_at_none = 0; looks_at_none < 2;) {
    // A search gets at least a second, so that the first one takes place even with a very short patience.
    const MonotonicTime now = Clock::System().Read().monotonic;
    found = search.Look(std::max(deadline, now + absl::Seconds(1)));
    looks_at_none = found.are_none() ? looks_at_none + 1 : 0;
    if (found.are_none()) continue;
    if (Clock::System().Read().monotonic >= deadline) return found;
    Pause(kLookPause);
  }
  return found;
}

}  // namespace muster::agent
