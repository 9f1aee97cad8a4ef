// How a lost node's place is taken again: by its next start, or by a newcomer that has no id of its own.
//
//   the next start has the node's lock        the former start's processes have ended: it has the place at once
//   they may still run                        refused for now: it tries again
//   they have ended                           it has the place, and the ranks
//   other role, or another number of slots    refused: ranks could not stay what they are
#include "absl/strings/str_cat.h"
#include "scheduler/core/membership/admission.h"
#include "scheduler/core/membership/membership.h"
#include "scheduler/core/membership/waiting.h"
#include "scheduler/core/views/event_log.h"

namespace muster::scheduler {

// The lost node whose place a newcomer without an id of its own takes.
Node* Membership::SeatFor(Run& run, const JoinRequested& event) {
  const v1::Join& join = event.join;
  if (!run.IsUnderWay() || join.node().spare() || !join.node_id().empty()) return nullptr;
  const std::string id = run.record().lost.SeatFor(join.node(), event.identity);
  return id.empty() ? nullptr : run.nodes.Find(id);
}

// The newcomer can vouch for the end of the former start: it holds the very lock that the other one and its keeper
// held. (One that held it before the other did is not let in: see IsFormerStart.)
bool Membership::IsSoleHeir(const Node& node, const v1::Join& join) {
  const std::string& token = node.record().info.lock_token();
  return !token.empty() && token == join.node().lock_token() && node.record().id == join.node_id();
}

// The join is of a start that held the node's lock before the registered one, so that start is dead. The kernel still
// sends what a dead process has written: its join may come once the network is mended.
bool Membership::IsFormerStart(const Node& node, const v1::Join& join) {
  const std::string& token = node.record().info.lock_token();
  return !token.empty() && token == join.node().lock_token() &&
         join.node().lock_take() < node.record().info.lock_take();
}

// A new start of a lost node takes its place and its ranks.
void Membership::Rejoin(const JoinRequested& event, Run& run, Node& node) {
  const v1::Join& join = event.join;
  if (auto refusal = CheckIncarnation(run, join)) return Refuse(event.stream, *std::move(refusal));
  if (auto refusal = CheckSettings(run, context_.options.settings, join))
    return Refuse(event.stream, *std::move(refusal));
  if (join.node().role() != node.record().info.role() ||
      join.node().slots_size() != static_cast<int>(node.record().slots.size())) {
    return Refuse(
        event.stream,
        MakeRefusal(
            v1::Refusal::SETTINGS_DIFFER,
            absl::StrCat(NodeText(node), " held rank ", FormatRanks(RanksOf(node)), " of job ", run.record().job_id,
                         ", but this start of it brings ", join.node().slots_size(), " ", RoleName(join.node().role()),
                         "s: start it as before (--local_worker_num ", node.record().slots.size(), ")")));
  }
  if (IsSoleHeir(node, join))
    lifecycle_.ConfirmDead(run, node, "its node has come back, with the lock that they would hold");
  if (node.record().stale_incarnation != 0) {
    return Refuse(event.stream, TryLater(absl::StrCat("the processes of the former start of ", NodeText(node),
                                                      " may still run", DescribeStaleEnd(node, context_.now.monotonic)),
                                         absl::Seconds(2)));
  }
  v1::Record record = NewNodeJoined(run, node.record().id, event);
  v1::NodeJoined& joined = *record.mutable_node_joined();
  joined.set_is_assigned_id(node.record().is_assigned_id);
  *joined.mutable_settings() = run.record().settings;
  joined.set_takes_over(true);
  context_.Write(std::move(record));
  Attach(event, run, node, false);
  lifecycle_.TryNextRound(run);
}

}  // namespace muster::scheduler
