// Two that claim one node id: who keeps it, and what becomes of the other.
//
//   the owner answers a probe, or comes back                      it keeps the id, the newcomer is refused
//   it hangs up, or does not answer within 2 s                    TakeOver
//
//   TakeOver                                                      what becomes of it
//   the run forms, or the owner is a spare                        the old start is removed, the new one admitted
//   the run goes on; the old processes have ended                 lost; Rejoin with its ranks (at once with the lock)
//   the run goes on; they may still run                           lost; told to try again until they have ended
//   a spare has its place, or the run can only end                Admit: as a spare, or into the next run
#include "absl/strings/str_cat.h"
#include "scheduler/core/membership/admission.h"
#include "scheduler/core/membership/membership.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kProbeTimeout = absl::Seconds(2);

}  // namespace

void Membership::Challenge(const JoinRequested& event, Run& run, Node& node) {
  if (node.challenger != nullptr) {
    return Refuse(event.stream,
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
        event.stream,
        MakeRefusal(v1::Refusal::NODE_ID_IN_USE,
                    absl::StrCat("MS_NODE_ID ", node.record().id, " is in use by a live agent on ",
                                 node.record().info.host_name(), " (", node.record().info.address(), ", pid ",
                                 node.record().info.pid(), "): give this node another id, or end that agent")));
  }
  const StreamId old_stream = node.stream;
  places_.Detach(run, node);
  context_.CloseStreamOf(old_stream);
  TakeOver(event, run, node);
}

// The node's former start has lost its claim (its processes may still run): a new start of it, or a newcomer for a lost
// node's seat, takes its place.
void Membership::TakeOver(const JoinRequested& event, Run& run, Node& node) {
  if (run.record().phase == v1::RUN_PHASE_FORMING || node.record().is_spare) {
    lifecycle_.RemoveNode(run, node, v1::NodeRemoved::REPLACED, "a new start of the same node has joined", true);
    return Admit(event, run, true);
  }
  const bool is_confirmed = IsSoleHeir(node, event.join);
  const std::string id = node.record().id;
  if (!node.record().is_lost) {
    lifecycle_.LoseNode(run, node, "a new start of the same node has joined, so the old one is dead", is_confirmed, 0);
  }
  Node* still = run.nodes.Find(id);  // no spare has taken its place
  if (run.IsUnderWay() && still != nullptr && still->record().is_lost) return Rejoin(event, run, *still);
  Run* next = RunForNewcomer(event);
  if (next != nullptr) Admit(event, *next);
}

}  // namespace muster::scheduler
