// Groups the ranks of a job that stands still by where their main threads stand, and says what that means. Pure.
//
// The text of a stack comes from py-spy, from Python's faulthandler, or from the kernel (v1::SlotStack::method). The
// first two name functions and lines; the kernel only says whether a thread runs, and what it waits for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/v1/admin.pb.h"

namespace muster::scheduler {

// Returns where the main thread's part of a stack text begins. py-spy marks it with "MainThread"; faulthandler writes
// "Current thread" before the thread that took the signal.
size_t MainThread(const std::string& text);

// Ranks whose main threads stand at the same place.
struct StackGroup {
  std::string place;            // "load (dataset.py:88)"; "waiting in pipe_read" by the kernel
  bool is_stopped = false;      // stopped by a signal or a debugger; `place` is empty
  std::vector<uint32_t> ranks;  // in rising order
};

// Returns the groups, the largest first. Ranks without a stack are left out. If Python's stacks are known of some
// ranks, a stack of the kernel counts only for a process that is stopped or in uninterruptible sleep: the two can't be
// compared.
std::vector<StackGroup> GroupStacks(const std::map<uint32_t, v1::RankStack>& stacks);

// The meaning of the groups. The suspect is the rank for which the others seem to wait.
struct StackFinding {
  std::string text;                 // "rank 5 is at a different place: load (dataset.py:88)"; empty: nothing is known
  std::optional<uint32_t> suspect;  // none: all stand at the same place, or no group stands out
};
// `ranks` is the number of ranks in the round.
StackFinding JudgeGroups(const std::vector<StackGroup>& groups, size_t ranks);

// The words after which the text of a finding has places in the code, after the next ": ".
inline constexpr char kElsewhere[] = "at a different place";
inline constexpr char kSamePlace[] = "at the same place";
inline constexpr char kPlaces[] = "at different places";

// Returns a line for each group, "ranks 0-4,6-7: wait (threading.py:320)", at most `most` lines.
std::vector<std::string> GroupLines(const std::vector<StackGroup>& groups, size_t most);

}  // namespace muster::scheduler
