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

inline constexpr size_t kFewNodes = 256;  // a check of so few nodes takes almost no time

inline constexpr size_t kMaxNamed = 8;  // the most names in one sentence

// Returns "a, b and 7 more", with at most kMaxNamed of the items. `text_of` gives the text of an item.
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

// True if the run waits for nodes, or if it runs and the scheduler's journal is an older copy.
bool IsWaiting(const Run& run);

// Returns "process 7 (python3, state D) of node a (host-a) has survived SIGKILL for 12 s", from the agent's last
// report. Returns an empty text if no process is stuck.
std::string DescribeStuck(const Node& node, MonotonicTime now);
// Returns the same for all nodes of the run.
std::string DescribeStuck(const Run& run, MonotonicTime now);

// `other_jobs` comes from DescribeOtherJobs.
v1::WaitStatus DescribeWaiting(const Run& run, MonotonicTime now, std::string other_jobs = "");

// Returns DescribeWaiting with DescribeOtherJobs, from a cache. The cache is renewed after a second; in a small run
// also when a node comes or goes. So the time does not grow with the number of agents that ask.
const v1::WaitStatus& WaitStatusOf(const State& state, const Run& run, MonotonicTime now);

// Returns the missing node ids in rising order, at most 4,096. Returns none unless all ids are numbers, and each of
// them is its node's only rank.
std::vector<uint32_t> MissingNumbers(const Run& run);

// Returns how long the old processes of a lost node may still run: " for 20 s". If that is not known, returns how a
// person can confirm that they have ended. The text begins with a space.
std::string DescribeStaleEnd(const Node& node, MonotonicTime now);

}  // namespace muster::scheduler
