#include "worker_agent/runtime/activity_watch.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_io.h"
#include "worker_agent/diagnostics/kernel_state.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxCounted = 64;  // processes of one slot
constexpr size_t kMaxStatBytes = 4096;
constexpr uint32_t kMaxPercent = 1'000'000;

}  // namespace

std::optional<uint64_t> TicksIn(absl::string_view stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == absl::string_view::npos) return std::nullopt;
  // The fields after the name begin with the third, the state; utime and stime are the 14th and the 15th.
  const std::vector<absl::string_view> fields = absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
  uint64_t user = 0, system = 0;
  if (fields.size() < 13 || !absl::SimpleAtoi(fields[11], &user) || !absl::SimpleAtoi(fields[12], &system)) {
    return std::nullopt;
  }
  return user + system;
}

void ActivityWatch::Watch(const ProcessKey& key, pid_t pid, MonotonicTime now) {
  Watched watched;
  watched.pid = pid;
  watched.looked = watched.last_output = now;
  watched_.insert_or_assign(key, std::move(watched));
}

std::vector<ActivitySeen> ActivityWatch::Poll(MonotonicTime now) {
  std::vector<ActivitySeen> seen;
  if (watched_.empty() || now - polled_ < kInterval) return seen;
  polled_ = now;
  wishes_.clear();
  for (auto& [key, watched] : watched_) {
    seen.push_back(Look(key, watched, now));
    OutputWish wish;
    wish.slot = key.slot;
    wish.lines = 1;
    wish.known = key;
    wish.after = watched.output_end;
    wishes_.push_back(wish);
  }
  return seen;
}

ActivitySeen ActivityWatch::Look(const ProcessKey& key, Watched& watched, MonotonicTime now) {
  ActivitySeen seen;
  seen.key = key;
  seen.last_output = watched.last_output;
  seen.has_output = watched.has_output;
  std::map<pid_t, uint64_t> ticks;
  uint64_t spent = 0;
  std::vector<pid_t> to_look = {watched.pid};
  for (size_t i = 0; i < to_look.size() && i < kMaxCounted; ++i) {
    const auto now_ticks =
        TicksIn(ReadSmallFile(absl::StrCat("/proc/", to_look[i], "/stat"), kMaxStatBytes).value_or(""));
    if (!now_ticks) continue;
    const auto before = watched.ticks.find(to_look[i]);
    spent += *now_ticks - (before == watched.ticks.end() ? 0 : std::min(before->second, *now_ticks));
    ticks[to_look[i]] = *now_ticks;
    for (const pid_t child : ChildrenOf(to_look[i])) to_look.push_back(child);
  }
  const double seconds = absl::ToDoubleSeconds(now - watched.looked);
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (!ticks.empty() && seconds > 0) {
    const double percent = 100 * static_cast<double>(spent) / ticks_per_second / seconds;
    seen.cpu_percent = static_cast<uint32_t>(std::min<double>(percent, kMaxPercent));
  }
  watched.ticks = std::move(ticks);
  watched.looked = now;
  if (const std::optional<ProcessInfo> process = ReadProcess(watched.pid)) seen.state = StateOf(*process);
  return seen;
}

void ActivityWatch::Take(const OutputRead& read, MonotonicTime now) {
  const auto found = watched_.find(read.key);
  if (found == watched_.end() || read.end == found->second.output_end) return;
  found->second.output_end = read.end;
  found->second.last_output = now;
  found->second.has_output = true;
}

}  // namespace muster::agent
