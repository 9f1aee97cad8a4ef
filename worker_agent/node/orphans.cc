// | its environment     | what is concluded                                                                        |
// |---------------------|------------------------------------------------------------------------------------------|
// | has the secret      | of the former start: SIGKILL if it is this user's; it is left until it is gone           |
// | has it not          | not of it                                                                                |
// | is empty            | not of it; unclear as long as it is just being executed; else as what may not be read    |
// | may not be read     | unclear if it may be the former start's (MayBeOf)                                        |
// | hangs               | the same; not tried again after the second time                                          |
// | process has ended   | nothing                                                                                  |
// | /proc can't be read | blind                                                                                    |
#include "worker_agent/node/orphans.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/sys/file_io.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/keeper/process/descendants.h"
#include "worker_agent/launch/environment/environment.h"
#include "worker_agent/node/environ_search.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLookPause = absl::Milliseconds(20);
// Fields of /proc/<pid>/stat, see proc(5).
constexpr size_t kFirstField = 3;  // behind the name
constexpr size_t kFlags = 9;
constexpr size_t kEnvironmentStart = 50;
constexpr size_t kEnvironmentEnd = 51;
constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD

std::set<pid_t> ThisAndAbove() {
  std::set<pid_t> pids = {getpid()};
  std::optional<ProcessInfo> process = ReadProcess(getpid());
  while (process && process->parent > 0 && pids.insert(process->parent).second) process = ReadProcess(process->parent);
  return pids;
}

// Its real user: the owner of /proc/<pid> is root's where it may not be looked into.
std::optional<uid_t> UserOf(pid_t pid) {
  const absl::StatusOr<std::string> status = ReadSmallFile(absl::StrCat("/proc/", pid, "/status"), 64 * 1024);
  if (!status.ok()) return std::nullopt;
  const size_t at = status->find("\nUid:\t");
  uid_t uid = 0;
  if (at == std::string::npos || !absl::SimpleAtoi(status->substr(at + 6, status->find('\t', at + 6) - at - 6), &uid)) {
    return std::nullopt;
  }
  return uid;
}

// Why there is nothing to be read.
enum class Emptiness { kNone, kBeingExecuted, kUnreadable };

Emptiness EmptinessOf(pid_t pid) {
  const absl::StatusOr<std::string> stat = ReadSmallFile(absl::StrCat("/proc/", pid, "/stat"), 4096);
  const size_t name_end = stat.ok() ? stat->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) return Emptiness::kUnreadable;  // if it has ended, the next look tells
  const std::vector<std::string> fields = absl::StrSplit(stat->substr(name_end + 2), ' ');
  const auto field = [&](size_t number) {
    uint64_t value = 0;
    return number - kFirstField < fields.size() && absl::SimpleAtoi(fields[number - kFirstField], &value) ? value : 0;
  };
  if ((field(kFlags) & kKernelThread) != 0) return Emptiness::kNone;
  if (field(kEnvironmentEnd) == 0) return Emptiness::kBeingExecuted;
  return field(kEnvironmentEnd) == field(kEnvironmentStart) ? Emptiness::kNone : Emptiness::kUnreadable;
}

class Search {
 public:
  Search(const std::string& secret, uint64_t start_time)
      : text_(absl::StrCat(kStartVariable, "=", secret)), start_time_(start_time), spared_(ThisAndAbove()) {}
  ~Search() {
    for (const pid_t pid : stuck_) Keeper::Spare(pid);  // nobody can end it
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // What there is now; ends what it may.
  Orphans Look(MonotonicTime deadline);

 private:
  using Key = std::pair<pid_t, uint64_t>;  // and its start time

  std::string List();
  bool MayBeOf(const ProcessInfo& process) const;
  void Take(const ProcessInfo& process, EnvironSight sight, Orphans& found);

  const std::string text_;
  const uint64_t start_time_;
  const std::set<pid_t> spared_;
  std::map<pid_t, ProcessInfo> processes_;  // of the present look, the older ones as well
  std::set<Key> slow_;
  std::set<Key> hangs_;
  std::vector<pid_t> stuck_;
};

// The error: why there is no list.
std::string Search::List() {
  processes_.clear();
  // Of another pid namespace it tells of other processes by the same numbers.
  char self[32] = "";
  if (readlink("/proc/self", self, sizeof(self) - 1) < 0) return absl::StrCat("/proc/self: ", std::strerror(errno));
  if (self != std::to_string(getpid())) return "/proc is that of another pid namespace (mount proc anew)";
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return absl::StrCat("/proc: ", std::strerror(errno));
  while (true) {
    errno = 0;
    const dirent* entry = readdir(proc.get());
    if (entry == nullptr) return errno == 0 ? "" : absl::StrCat("/proc: ", std::strerror(errno));
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    errno = 0;
    const std::optional<ProcessInfo> process = ReadProcess(pid);
    if (process) processes_.emplace(pid, *process);
    // Of another user where /proc is mounted with hidepid=1: as if it could be seen and not be read.
    const bool is_hidden = getuid() != 0 && (errno == EACCES || errno == EPERM);
    if (!process && errno != ENOENT && errno != ESRCH && !is_hidden) {
      return absl::StrCat("/proc/", pid, "/stat: ", std::strerror(errno));
    }
  }
}

// An orphan goes to the first process or to a subreaper above the former start, which is older than that.
bool Search::MayBeOf(const ProcessInfo& process) const {
  const std::optional<uid_t> user = UserOf(process.pid);
  if (user && *user != getuid() && getuid() != 0) return false;
  const ProcessInfo* below = &process;
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (below->parent <= 1) return true;
    const auto parent = processes_.find(below->parent);
    if (parent == processes_.end() || parent->second.start_time < start_time_) return true;
    const auto key = Key(parent->second.pid, parent->second.start_time);
    if (!hangs_.contains(key)) return false;
    below = &parent->second;
  }
  return true;
}

void Search::Take(const ProcessInfo& process, EnvironSight sight, Orphans& found) {
  const Key key(process.pid, process.start_time);
  switch (sight) {
    case EnvironSight::kHasNot:
    case EnvironSight::kGone:
      return;
    case EnvironSight::kHasIt: {
      const std::optional<uid_t> user = UserOf(process.pid);
      const bool is_ours = user == geteuid();
      if (is_ours) SignalExactly(process, SIGKILL);
      found.left.push_back({process.pid, absl::StrCat("of uid ", user ? absl::StrCat(*user) : "?",
                                                      is_ours ? ", killed" : ", not this user's to kill")});
      return;
    }
    case EnvironSight::kEmpty:
      switch (EmptinessOf(process.pid)) {
        case Emptiness::kNone:
          return;
        case Emptiness::kBeingExecuted:
          found.unclear.push_back({process.pid, "is just being executed"});
          return;
        case Emptiness::kUnreadable:
          return Take(process, EnvironSight::kRefused, found);
      }
      return;
    case EnvironSight::kHangs:
      if (!slow_.insert(key).second) hangs_.insert(key);  // twice: it was not the machine that left no time
      if (MayBeOf(process)) found.unclear.push_back({process.pid, "hangs when its /proc/<pid>/environ is read"});
      return;
    case EnvironSight::kRefused:
      if (MayBeOf(process)) found.unclear.push_back({process.pid, "its /proc/<pid>/environ may not be read"});
      return;
    case EnvironSight::kNotSeen:
      found.blind = "there was no time or no process left to look at all of them";
      return;
  }
}

Orphans Search::Look(MonotonicTime deadline) {
  Orphans found;
  found.blind = List();
  if (!found.blind.empty()) return found;
  std::vector<ProcessInfo> asked;
  std::vector<pid_t> pids;
  for (const auto& [pid, process] : processes_) {
    if (spared_.contains(pid) || process.is_dead || process.start_time < start_time_) continue;
    if (hangs_.contains(Key(pid, process.start_time))) {
      Take(process, EnvironSight::kHangs, found);
      continue;
    }
    asked.push_back(process);
    pids.push_back(pid);
  }
  const std::vector<EnvironSight> sights = SearchEnvirons(pids, text_, deadline, stuck_);
  for (size_t i = 0; i < asked.size(); ++i) Take(asked[i], sights[i], found);
  return found;
}

}  // namespace

Orphans EndOrphans(const std::string& secret, uint64_t start_time, absl::Duration patience) {
  Orphans found;
  if (secret.empty()) {
    found.blind = "nothing tells its processes from others";
    return found;
  }
  Search search(secret, start_time);
  const MonotonicTime deadline = Clock::System().Read().monotonic + patience;
  for (int looks_at_none = 0; looks_at_none < 2;) {
    // A first look takes place however short the patience is.
    const MonotonicTime now = Clock::System().Read().monotonic;
    found = search.Look(std::max(deadline, now + absl::Seconds(1)));
    looks_at_none = found.are_none() ? looks_at_none + 1 : 0;
    if (found.are_none()) continue;
    if (Clock::System().Read().monotonic >= deadline) return found;
    absl::SleepFor(kLookPause);
  }
  return found;
}

}  // namespace muster::agent
