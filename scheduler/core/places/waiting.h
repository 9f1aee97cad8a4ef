// Describes which nodes are here, which are missing, and how long is left, while a job forms or waits. Pure functions.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

inline constexpr size_t kFewNodes = 256;  // so few that looking at all of them takes no time

inline constexpr size_t kMaxNamed = 8;  // in one sentence

// "a, b and 7 more": at most kMaxNamed of them, each as `text_of` names it.
template <typename Item, typename TextOf>
std::string JoinSome(const std::vector<Item>& items, TextOf text_of) {
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), kMaxNamed));
  std::string text = absl::StrJoin(items.begin(), end, ", ",
                                   [&text_of](std::string* out, const Item& item) { out->append(text_of(item)); });
  if (items.size() > kMaxNamed) absl::StrAppend(&text, " and ", items.size() - kMaxNamed, " more");
  return text;
}
inline std::string JoinSome(const std::vector<std::string>& items) {
  return JoinSome(items, [](const std::string& item) { return item; });
}

// True if the run waits for nodes, or if it runs and its journal is an older copy.
bool IsWaiting(const Run& run);

// Returns "process 7 (python3, state D) of node a (host-a) has survived SIGKILL for 12 s", as its agent last reported;
// empty: no process is stuck.
std::string DescribeStuck(const Node& node, MonotonicTime now);
// Returns the same for all nodes of the run.
std::string DescribeStuck(const Run& run, MonotonicTime now);

// `other_jobs` comes from DescribeOtherJobs.
v1::WaitStatus DescribeWaiting(const Run& run, MonotonicTime now, std::string other_jobs = "");

// Returns the same, with the other jobs, from a cache. It is made at most once a second, however many agents ask; in a
// small run also when a node comes or goes.
const v1::WaitStatus& WaitStatusOf(const State& state, const Run& run, MonotonicTime now);

// Returns the missing ids, rising, 4,096 at most, if ids are numbers and each is one rank; else empty.
std::vector<uint32_t> MissingNumbers(const Run& run);

// Returns how long the processes of a lost node may still run, after a space: " for 20 s"; or how a person can confirm
// that they don't.
std::string DescribeStaleEnd(const Node& node, MonotonicTime now);

}  // namespace muster::scheduler
