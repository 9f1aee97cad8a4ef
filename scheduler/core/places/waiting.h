// Who is there, who is missing, and how long is left: what everybody is told while a job forms or waits. Pure.
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

inline constexpr size_t kFewNodes = 256;  // to look at all of them takes no time

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

// Whether there is something to say about that. Also of a run that runs, if its journal is an older copy.
bool IsWaiting(const Run& run);

// "process 7 (python3, state D) of node a (host-a) can't be killed for 12 s": what its agent last reported; empty:
// nothing.
std::string DescribeStuck(const Node& node, MonotonicTime now);
// The same of all its nodes.
std::string DescribeStuck(const Run& run, MonotonicTime now);

// `other_jobs`: as DescribeOtherJobs gives it.
v1::WaitStatus DescribeWaiting(const Run& run, MonotonicTime now, std::string other_jobs = "");

// The same, with the other jobs, from a cache. At most one a second is made anew, however many agents ask; in a small
// run whoever comes or goes shows at once.
const v1::WaitStatus& WaitStatusOf(const State& state, const Run& run, MonotonicTime now);

// Where ids are numbers and each is one rank: the ids that are missing, rising, 4,096 at most. Else empty.
std::vector<uint32_t> MissingNumbers(const Run& run);

// How long the processes of a lost node may still run, with a space before it: " for 20 s", or who has to say that they
// don't.
std::string DescribeStaleEnd(const Node& node, MonotonicTime now);

}  // namespace muster::scheduler
