//   the node                                                 is it named in the text?
//   is lost, or knows the outcome and has gone               no: its state says this already
//   is connected, and was heard in the last 5 s or two       no
//     heartbeats
//   is connected, and has been silent for longer             yes, with the end of its lease
//   is disconnected, and the run waits for nodes             no: the text about the waiting run names it
//   is disconnected, and the run goes on                     yes, with the end of its grace
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "scheduler/core/places/waiting.h"
#include "scheduler/core/views/views.h"

namespace muster::scheduler {

namespace {

std::string TextOf(const Node& node, MonotonicTime now) {
  const bool is_connected = node.stream != 0;
  const MonotonicTime end = is_connected ? node.lease_end : node.grace_end;
  return absl::StrCat(NodeText(node),
                      node.was_seen ? absl::StrCat(" for ", FormatAge(now - node.last_seen)) : " since the restart",
                      is_connected ? "" : ", its connection is gone",
                      end.is_never() || end < now
                          ? ""
                          : absl::StrCat(": lost in ", FormatAge(end - now), is_connected ? " at the latest" : ""));
}

}  // namespace

std::string DescribeSilent(const Context& context, const Run& run) {
  if (run.HasEnded()) return "";
  const MonotonicTime now = context.now.monotonic;
  const absl::Duration usual = std::max(absl::Seconds(5), 2 * context.HeartbeatInterval() + absl::Seconds(1));
  const bool names_disconnected = !IsWaiting(run);
  std::vector<const Node*> silent;
  for (const auto& [id, node] : run.nodes) {
    if (node.record().is_lost || node.is_settled) continue;
    const bool is_connected = node.stream != 0;
    if (is_connected ? now - node.last_seen < usual : !names_disconnected) continue;
    silent.push_back(&node);
  }
  return JoinSome(silent, [now](const Node* node) { return TextOf(*node, now); });
}

}  // namespace muster::scheduler
