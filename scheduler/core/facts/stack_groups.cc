// | the groups (the first row that fits)     | what it means                                                           |
// |------------------------------------------|-------------------------------------------------------------------------|
// | one is stopped                           | its first rank is the suspect                                           |
// | there is only one                        | no rank stands out: a device or the network holds up the collective     |
// | exactly one is not in a collective       | its first rank is the suspect, even if this group is the largest        |
// | one is larger than all others together   | the first rank of the smallest group is the suspect                     |
// | anything else                            | the places are named, without a suspect                                 |
#include "scheduler/core/facts/stack_groups.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {
namespace {

constexpr size_t kMaxPlaceBytes = 160;
constexpr char kKernel[] = "kernel";  // SlotStack::method
constexpr char kAsleep[] = "uninterruptible";

// One frame of Python's stack.
struct Frame {
  absl::string_view function;
  absl::string_view file;
  absl::string_view line;
};

absl::string_view LastPart(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

// Parses a frame of py-spy, "    load (data/dataset.py:88)". Returns nullopt for a native frame (py-spy --native).
std::optional<Frame> PySpyFrame(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "    ") || !absl::ConsumeSuffix(&text, ")")) return std::nullopt;
  const size_t open = text.rfind(" (");
  const size_t colon = text.rfind(':');
  if (open == std::string::npos || colon == std::string::npos || colon < open) return std::nullopt;
  const Frame frame{text.substr(0, open), text.substr(open + 2, colon - open - 2), text.substr(colon + 1)};
  return absl::EndsWith(frame.file, ".py") ? std::make_optional(frame) : std::nullopt;
}

// Parses a frame of faulthandler: "  File \"/srv/dataset.py\", line 88 in load".
std::optional<Frame> FaulthandlerFrame(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "  File \"")) return std::nullopt;
  const size_t quote = text.find("\", line ");
  const size_t in = text.rfind(" in ");
  if (quote == std::string::npos || in == std::string::npos || in < quote) return std::nullopt;
  const size_t number = quote + 8;
  if (number > in) return std::nullopt;
  return Frame{text.substr(in + 4), text.substr(0, quote), text.substr(number, in - number)};
}

std::string FrameText(const Frame& frame) {
  return absl::StrCat(frame.function, " (", LastPart(frame.file), ":", frame.line, ")");
}

// In the text, the innermost frame comes first. Also names the script's own line, unless the innermost frame has it.
std::string PythonPlace(const std::string& text) {
  std::vector<Frame> frames;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text).substr(MainThread(text)), '\n')) {
    const auto frame = absl::StartsWith(line, "  File ") ? FaulthandlerFrame(line) : PySpyFrame(line);
    if (frame) {
      frames.push_back(*frame);
    } else if (!frames.empty()) {
      break;  // the next thread
    }
  }
  if (frames.empty()) return "";
  std::string place = FrameText(frames.front());
  const absl::string_view script = frames.back().file;
  const auto own = std::find_if(frames.begin(), frames.end(), [&](const Frame& f) { return f.file == script; });
  if (own != frames.begin()) absl::StrAppend(&place, ", called at ", LastPart(own->file), ":", own->line);
  return place;
}

// Returns "waiting in pipe_read" for the kernel's text "python3: S (sleeping), waits in pipe_read".
std::string KernelPlace(const std::string& text) {
  const absl::string_view line = absl::string_view(text).substr(0, text.find('\n'));
  const size_t name = line.find(": ");
  if (name == std::string::npos) return "";
  const absl::string_view state = line.substr(name + 2);
  const size_t channel = state.find("waits in ");
  if (absl::StartsWith(state, "R")) return "running on a processor";
  if (absl::StartsWith(state, "D")) {
    return absl::StrCat(kAsleep, channel == std::string::npos ? "" : " in ",
                        channel == std::string::npos ? "" : state.substr(channel + 9));
  }
  return channel == std::string::npos ? std::string(state) : absl::StrCat("waiting in ", state.substr(channel + 9));
}

// True if a rank at this place waits for other ranks, as far as the names of function and file say.
bool IsCollective(absl::string_view place) {
  constexpr std::array<absl::string_view, 12> kWords = {
      "all_reduce", "allreduce", "all_gather", "allgather",   "reduce_scatter",       "barrier",
      "all_to_all", "alltoall",  "broadcast",  "synchronize", "_engine_run_backward", "hccl"};
  const absl::string_view function = place.substr(0, place.find(" ("));
  const absl::string_view file = LastPart(place.substr(std::min(place.size(), function.size() + 2)));
  if (absl::StartsWith(file, "distributed_c10d.py:") || absl::StartsWith(file, "comm_func.py:")) return true;
  return function == "recv" ||
         std::any_of(kWords.begin(), kWords.end(), [&](absl::string_view w) { return absl::StrContains(function, w); });
}

std::string RankWords(const StackGroup& group) {
  return absl::StrCat(group.ranks.size() == 1 ? "rank " : "ranks ", FormatRanks(group.ranks));
}

const char* Is(const StackGroup& group) { return group.ranks.size() == 1 ? " is " : " are "; }

StackFinding Suspect(const StackGroup& group, const std::string& what) {
  return {absl::StrCat(RankWords(group), Is(group), what), group.ranks.front()};
}

}  // namespace

size_t MainThread(const std::string& text) {
  for (const char* mark : {"\"MainThread\"", "Current thread "}) {
    const size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    const size_t line = text.rfind('\n', at);
    return line == std::string::npos ? 0 : line + 1;
  }
  return 0;
}

std::vector<StackGroup> GroupStacks(const std::map<uint32_t, v1::RankStack>& stacks) {
  const bool has_python = std::any_of(stacks.begin(), stacks.end(), [](const auto& entry) {
    return entry.second.stack().method() != kKernel && !PythonPlace(entry.second.stack().text()).empty();
  });
  std::map<std::pair<bool, std::string>, StackGroup> by_place;
  for (const auto& [rank, stack] : stacks) {
    const v1::SlotStack& slot = stack.stack();
    std::string place;
    if (!slot.is_stopped()) place = slot.method() == kKernel ? KernelPlace(slot.text()) : PythonPlace(slot.text());
    if (place.empty() && !slot.is_stopped()) continue;
    if (has_python && slot.method() == kKernel && !slot.is_stopped() && !absl::StartsWith(place, kAsleep)) continue;
    CutText(place, kMaxPlaceBytes);
    StackGroup& group = by_place[{slot.is_stopped(), place}];
    group.place = place;
    group.is_stopped = slot.is_stopped();
    group.ranks.push_back(rank);
  }
  std::vector<StackGroup> groups;
  for (auto& [place, group] : by_place) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const StackGroup& a, const StackGroup& b) { return a.ranks.size() > b.ranks.size(); });
  return groups;
}

StackFinding JudgeGroups(const std::vector<StackGroup>& groups, size_t ranks) {
  const auto stopped = std::find_if(groups.begin(), groups.end(), [](const StackGroup& g) { return g.is_stopped; });
  if (stopped != groups.end()) return Suspect(*stopped, "stopped, by a signal or a debugger");
  if (groups.empty()) return {};
  size_t known = 0;
  for (const StackGroup& group : groups) known += group.ranks.size();
  std::string missing;
  if (known + 1 == ranks) missing = "; the place of 1 other rank is not known";
  if (known + 1 < ranks) missing = absl::StrCat("; the places of ", ranks - known, " other ranks are not known");
  if (groups.size() == 1) {
    const StackGroup& all = groups.front();
    const std::string who = known < ranks ? RankWords(all) : absl::StrCat("all ", known, " ranks");
    const char* what = known < ranks || ranks == 1 ? "" : " (a device or the network holds them up)";
    return {absl::StrCat(who, Is(all), kSamePlace, ": ", all.place, what, missing), std::nullopt};
  }
  const auto is_elsewhere = [](const StackGroup& g) { return !IsCollective(g.place); };
  const bool has_one_elsewhere = std::count_if(groups.begin(), groups.end(), is_elsewhere) == 1;
  if (has_one_elsewhere) {
    const StackGroup& group = *std::find_if(groups.begin(), groups.end(), is_elsewhere);
    return Suspect(group, absl::StrCat(kElsewhere, ": ", group.place));
  }
  if (2 * groups.front().ranks.size() > known) {
    return Suspect(groups.back(), absl::StrCat(kElsewhere, ": ", groups.back().place));
  }
  return {absl::StrCat("the ranks are ", kPlaces, ": ", absl::StrJoin(GroupLines(groups, 2), "; "), missing),
          std::nullopt};
}

std::vector<std::string> GroupLines(const std::vector<StackGroup>& groups, size_t most) {
  std::vector<std::string> lines;
  for (const StackGroup& group : groups) {
    if (lines.size() == most) break;
    lines.push_back(absl::StrCat(RankWords(group), ": ", group.is_stopped ? "stopped" : group.place));
    CutText(lines.back(), kMaxLastLineBytes);
  }
  return lines;
}

}  // namespace muster::scheduler
