// A join takes over a node's place. The node's agent and the newcomer claim the same id, or the node was lost. The
// newcomer is the node's next start, or an agent without an id of its own.
//
//   Challenge: two agents claim one node id            what happens
//   the owner answers a probe, or comes back           the owner keeps the id, and the newcomer is refused
//   the owner's stream closes, or 2 s pass             TakeOver
//
//   TakeOver                                           what happens
//   the run forms, or the owner is a spare             the old start is removed, the new one admitted
//   the run goes on; the old processes have ended      the owner is lost; Rejoin gives its ranks to the newcomer
//   the run goes on; the old processes may still run   the owner is lost; the newcomer tries until they have ended
//   a spare has the owner's place                      the newcomer is admitted as a spare
//   the run can only end                               the newcomer is admitted into the next run
//
//   Rejoin: a lost node's place                        what happens
//   the newcomer is the next start, and has the        the old processes have ended, so the newcomer gets the place
//     node's lock                                        and the ranks
//   the old processes may still run                    the newcomer is refused for now, and tries again
//   the old processes have ended                       the newcomer gets the place and the ranks
//   the newcomer has another role or number of slots   the newcomer is refused, because the ranks would not fit
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "scheduler/core/membership/membership.h"
#include "scheduler/core/places/admission.h"
#include "scheduler/core/places/agreed_settings.h"
#include "scheduler/core/places/waiting.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kProbeTimeout = absl::Seconds(2);

bool Names(const google::protobuf::RepeatedField<uint64_t>& starts, uint64_t start) {
  return std::find(starts.begin(), starts.end(), start) != starts.end();
}

}  // namespace

void Membership::Challenge(const JoinRequested& event, Run& run, Node& node) {
  if (node.challenger != nullptr) {
    return Refuse(event,
                  TryLater(absl::StrCat("two agents claim node id ", node.record().id,
                                        " already, and the scheduler is finding out which one is alive: give each node "
                                        "an MS_NODE_ID of its own"),
                           kProbeTimeout));
  }
  node.challenger =
      std::make_unique<Challenger>(Challenger{event, ++last_probe_, context_.now.monotonic + kProbeTimeout});
  context_.streams[event.stream] = {.run = &run, .node = &node, .is_challenger = true};
  Message message = context_.NewMessage();
  message->mutable_probe()->set_probe(node.challenger->probe);
  context_.SendTo(node.stream, std::move(message));
  context_.Schedule(node);
}

void Membership::ResolveChallenge(Run& run, Node& node, bool is_old_alive) {
  const std::unique_ptr<Challenger> challenger = std::move(node.challenger);
  const JoinRequested& event = challenger->join;
  context_.streams.erase(event.stream);
  context_.Schedule(node);
  if (is_old_alive) {
    return Refuse(
        event, MakeRefusal(v1::Refusal::NODE_ID_IN_USE,
                           absl::StrCat("MS_NODE_ID ", node.record().id, " is in use by a live agent on ",
                                        node.record().info.host_name(), " (", node.record().info.address(), ", pid ",
                                        node.record().info.pid(), "): give this node another id, or end that agent")));
  }
  const StreamId old_stream = node.stream;
  places_.Detach(run, node);
  context_.CloseStreamOf(old_stream);
  TakeOver(event, run, node);
}

// Gives the node's place to the join. The node's former start has lost its claim, but its processes may still run. The
// join is of a new start of the node, or of a newcomer that takes a lost node's place.
void Membership::TakeOver(const JoinRequested& event, Run& run, Node& node) {
  if (run.record().phase == v1::RUN_PHASE_FORMING || node.record().is_spare) {
    if (IsSoleHeir(node, event.join)) node.must_quit = false;
    lifecycle_.RemoveNode(run, node, v1::NodeRemoved::REPLACED, "a new start of the same node has joined", true);
    return Admit(event, run, true);
  }
  const bool is_confirmed = IsSoleHeir(node, event.join);
  const std::string id = node.record().id;
  if (!node.record().is_lost) {
    lifecycle_.LoseNode(run, node, "a new start of the same node has joined, so the old one is dead", is_confirmed, 0);
  }
  Node* still = run.nodes.Find(id);  // null if a spare has taken its place
  if (run.IsUnderWay() && still != nullptr && still->record().is_lost) return Rejoin(event, run, *still);
  Run* next = RunForNewcomer(event);
  if (next != nullptr) Admit(event, *next);
}

// Returns the lost node that a newcomer without an id of its own replaces; null if there is none.
Node* Membership::FindReplaced(Run& run, const JoinRequested& event) {
  const v1::Join& join = event.join;
  if (!run.IsUnderWay() || join.node().spare() || !join.node_id().empty()) return nullptr;
  const std::string id = run.record().lost.FindReplaced(join.node(), event.identity);
  return id.empty() ? nullptr : run.nodes.Find(id);
}

// True if the newcomer can guarantee that the processes of the former start have ended. It must hold the same lock that
// the former start and its keeper held, and must list that start among those that left no processes. The lock alone is
// not enough: if a restored disk brought back an older lock file, the newcomer has searched for the processes of an
// earlier start than the former one.
bool Membership::IsSoleHeir(const Node& node, const v1::Join& join) {
  const v1::NodeInfo& former = node.record().info;
  const bool has_lock = !former.lock_token().empty() && former.lock_token() == join.node().lock_token();
  return has_lock && node.record().id == join.node_id() &&
         (former.lock_start() == 0 || Names(join.node().ended_starts(), former.lock_start()));
}

// True if the join is of a start that held the node's lock before the registered start. Then the join's start is dead:
// the kernel still sends the data of a dead process, so its join may arrive once the network works again.
bool Membership::IsFormerStart(const Node& node, const v1::Join& join) {
  const v1::NodeInfo& later = node.record().info;
  if (later.lock_start() != 0 && join.node().lock_start() != 0) {
    return Names(later.ended_starts(), join.node().lock_start());
  }
  return !later.lock_token().empty() && later.lock_token() == join.node().lock_token() &&
         join.node().lock_count() < later.lock_count();
}

// Returns why the newcomer can't guarantee that the former start's processes have ended; empty if that is not known.
std::string Membership::WhyNoHeir(const Node& node, const v1::Join& join) {
  const v1::NodeInfo& former = node.record().info;
  if (!join.node().former_start_doubt().empty()) return join.node().former_start_doubt();
  const bool has_lock = !former.lock_token().empty() && former.lock_token() == join.node().lock_token();
  return has_lock ? "the start that this node's lock file names as the previous one is not the start that the "
                    "scheduler knows (the file was rolled back, or replaced)"
                  : "";
}

// Gives the place and the ranks of a lost node to the join, or refuses it.
void Membership::Rejoin(const JoinRequested& event, Run& run, Node& node) {
  const v1::Join& join = event.join;
  if (auto refusal = CheckIncarnation(run, join)) return Refuse(event, *std::move(refusal));
  if (auto refusal = CheckSettings(run, context_.options.own, join)) return Refuse(event, *std::move(refusal));
  if (join.node().role() != node.record().info.role() ||
      join.node().slots_size() != static_cast<int>(node.record().slots.size())) {
    return Refuse(
        event, MakeRefusal(v1::Refusal::SETTINGS_DIFFER,
                           absl::StrCat(NodeText(node), " held rank ", FormatRanks(RanksOf(node)), " of job ",
                                        run.record().job_id, ", but this start of it brings ", join.node().slots_size(),
                                        " ", RoleName(join.node().role()), "s: start it as before (--local_worker_num ",
                                        node.record().slots.size(), ")")));
  }
  if (IsSoleHeir(node, join))
    lifecycle_.ConfirmDead(run, node,
                           "the node was started again and holds its lock, which they would hold if they still ran");
  if (node.record().stale_incarnation != 0) {
    node.heir_doubt = WhyNoHeir(node, join);
    return Refuse(event, TryLater(absl::StrCat("the processes of the former start of ", NodeText(node),
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
