// Closes rounds, and sends each node its desired state. Once enough nodes have joined, the first round of a run depends
// on their addresses:
//
//   the nodes                                              the first round
//   each has an address that its peers can reach           closes
//   a spare that is needed has no such address             closes with another spare; if none fits, it waits, and the
//                                                          spare is refused
//   a regular node has no such address                     waits, and that node is refused with a remedy
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/ids.h"
#include "common/base/sha256.h"
#include "common/hosts/endpoints.h"
#include "common/net/peer_node.h"
#include "scheduler/core/facts/progress.h"
#include "scheduler/core/lifecycle/hosts.h"
#include "scheduler/core/lifecycle/lifecycle.h"
#include "scheduler/core/places/admission.h"
#include "scheduler/core/places/placement.h"
#include "scheduler/core/places/round_addresses.h"

namespace muster::scheduler {
namespace {

uint32_t CountRanks(const v1::PeerList& peers) {
  uint32_t ranks = 0;
  for (const v1::PeerNode& node : peers.nodes()) ranks += static_cast<uint32_t>(SlotCount(node));
  return ranks;
}

// True if the run's nodes, connected or not, have enough slots for a round.
bool AreEnoughThere(const Run& run) {
  for (const v1::Role role : {v1::ROLE_WORKER, v1::ROLE_SERVER}) {
    if (run.record().slot_counts.RegularSlots(role) + run.record().slot_counts.SpareSlots(role) < run.Needed(role))
      return false;
  }
  return true;
}

// Returns remarks about settings of `node` that do not fit those of rank 0's node in the current round.
std::vector<std::string> RemarksOn(const Run& run, const Node& node) {
  if (run.record().peers.nodes().empty()) return {};
  const Node* first = run.nodes.Find(run.record().peers.nodes(0).node_id());  // has rank 0
  if (first == nullptr) return {};
  return EndpointRemarks(node.record().info, {NodeText(*first), &first->record().info, run.record().master_address,
                                              run.record().master_port});
}

// Returns one warning for all nodes with remarks: the scheduler logs the first remark, and each agent logs its own.
std::string WarningOfEndpoints(const Run& run) {
  size_t count = 0;
  std::string text;
  for (const v1::PeerNode& peer : run.record().peers.nodes()) {
    const Node* member = run.nodes.Find(peer.node_id());
    const std::vector<std::string> remarks = member == nullptr ? std::vector<std::string>() : RemarksOn(run, *member);
    if (!remarks.empty() && ++count == 1) text = absl::StrCat(NodeText(*member), ": ", remarks.front());
  }
  if (count > 1) absl::StrAppend(&text, " (and ", count - 1, count == 2 ? " other node" : " other nodes", ")");
  return text;
}

}  // namespace

// Returns the connected members that make up the round; none if it can't close yet. Regular nodes come first. Spares
// fill in if all nodes are spares (started with one command line), or if no regular node has joined for kSpareWait.
std::vector<const Node*> Lifecycle::ChooseMembers(const Run& run, const std::set<std::string>& passed_over,
                                                  std::vector<std::string>& promoted) const {
  std::vector<const Node*> members;
  std::vector<const Node*> spares;
  uint32_t missing[] = {run.Needed(v1::ROLE_WORKER), run.Needed(v1::ROLE_SERVER)};
  const auto missing_of = [&](const Node& node) -> uint32_t& {
    return missing[node.record().info.role() == v1::ROLE_SERVER ? 1 : 0];
  };
  for (const auto& [id, node] : run.nodes) {
    if (node.record().is_spare) {
      if (node.stream != 0 && !passed_over.contains(id)) spares.push_back(&node);
      continue;
    }
    if (node.stream == 0) return {};
    members.push_back(&node);
    missing_of(node) -= static_cast<uint32_t>(node.record().info.slots_size());
  }
  if (missing[0] == 0 && missing[1] == 0) return members;
  if (!members.empty() && context_.now.monotonic < run.spare_deadline) return {};
  std::sort(spares.begin(), spares.end(),
            [](const Node* a, const Node* b) { return NaturalLess(a->record().id, b->record().id); });
  for (const Node* spare : spares) {
    const uint32_t slots = static_cast<uint32_t>(spare->record().info.slots_size());
    if (slots > missing_of(*spare)) continue;
    missing_of(*spare) -= slots;
    members.push_back(spare);
    promoted.push_back(spare->record().id);
  }
  if (missing[0] != 0 || missing[1] != 0) return {};
  return members;
}

void Lifecycle::TryCloseRound(Run& run) {
  if (run.record().phase != v1::RUN_PHASE_FORMING || run.nodes.empty() || run.IsRoundBehind()) return;
  run.waiting_cache.is_valid = false;
  if (run.record().spare_count > 0 && run.spare_deadline.is_never())
    run.spare_deadline = context_.now.monotonic + kSpareWait;
  context_.Schedule(run);
  if (!AreEnoughThere(run)) return;
  std::set<std::string> passed_over;
  std::vector<Unreachable> useless;  // the spares that were passed over
  while (true) {
    std::vector<std::string> promoted;
    const std::vector<const Node*> members = ChooseMembers(run, passed_over, promoted);
    if (members.empty()) return TurnAway(run, useless);
    const RoundAddresses addresses = ChooseAddresses(members, context_.options.own_address);
    if (addresses.unreachable.empty()) {
      const HostsCheck check = JudgeHosts(members);
      if (DrainStraggler(run, members, check.stragglers)) return TryCloseRound(run);
      if (DoHostsFit(run, check)) CloseRound(run, members, addresses.others, promoted);
      return;
    }
    bool is_passed_over = true;
    for (const Unreachable& one : addresses.unreachable) is_passed_over = is_passed_over && one.node->record().is_spare;
    if (!is_passed_over) return TurnAway(run, addresses.unreachable);
    for (const Unreachable& one : addresses.unreachable) {
      passed_over.insert(one.node->record().id);
      useless.push_back(one);
    }
  }
}

bool Lifecycle::DoHostsFit(Run& run, const HostsCheck& check) {
  if (!check.unfit.empty()) {
    TurnAway(run, check.unfit);
    return false;
  }
  for (const std::string& warning : check.warnings) context_.Warn(run, "hosts_differ", warning);
  return true;
}

void Lifecycle::TurnAway(Run& run, const std::vector<Unreachable>& unreachable) {
  for (const Unreachable& one : unreachable) {
    Node& node = run.nodes.at(one.node->record().id);
    SendAway(run, node, v1::NodeRemoved::LEFT, absl::StrCat("it was refused: ", one.reason),
             MakeRefusal(v1::Refusal::SETTINGS_DIFFER, absl::StrCat(NodeText(node), " can't take part: ", one.reason)));
  }
  context_.Schedule(run);
}

void Lifecycle::CloseRound(Run& run, const std::vector<const Node*>& members, const OtherAddresses& addresses,
                           const std::vector<std::string>& promoted,
                           const std::map<std::string, const Node*>& stands_for) {
  const uint32_t round = run.record().round + 1;
  const v1::PeerList peers = BuildPeerList(run, round, members, stands_for, addresses);
  MUSTER_CHECK(CountRanks(peers) == run.Needed(v1::ROLE_WORKER) + run.Needed(v1::ROLE_SERVER), "a round lacks ranks");
  const Master master = MasterOf(run, peers);
  v1::Record record = context_.NewRecord();
  v1::RoundClosed& closed = *record.mutable_round_closed();
  SetHead(closed, run);
  closed.set_round(round);
  closed.set_peer_list(peers.SerializeAsString());
  closed.set_digest(Sha256(closed.peer_list()));
  closed.set_master_address(master.address);
  closed.set_master_port(master.port);
  closed.set_restart_count(run.record().restart_count + (run.record().round > 0 ? 1 : 0));
  closed.set_formed_in_ms(
      absl::ToInt64Milliseconds(context_.now.monotonic - (run.record().round > 0 ? run.aborted : run.opened)));
  if (run.record().round > 0 && !run.candidates.empty()) *closed.mutable_cause() = ChooseCause(run.candidates).cause;
  for (const std::string& id : promoted) closed.add_promoted_spares(id);
  for (const auto& [spare, lost] : stands_for) {
    v1::Replacement& replacement = *closed.add_replacements();
    replacement.set_spare(spare);
    replacement.set_lost(lost->record().id);
    places_.Release(run.nodes.at(lost->record().id));
  }
  store_.EndWaits(run);  // of calls that a planned stop still allowed
  context_.Write(std::move(record));

  if (const std::string warning = WarningOfEndpoints(run); !warning.empty()) {
    context_.Warn(run, "hosts_differ", warning);
  }
  run.candidates.clear();
  run.topo_deadline = run.rejoin_deadline = run.restart_at = MonotonicTime::Never();
  run.spare_deadline = MonotonicTime::Never();
  if (!run.lacks_progress) run.progress_deadline = context_.now.monotonic + FirstProgressLimit(run);
  run.first_progress_deadline = FirstProgressDeadline(run, context_.now.monotonic);
  run.stall.reset();
  run.halts_announced = 0;
  for (auto& [id, node] : run.nodes) {
    node.must_quit = false;
    node.unseen_lines = 0;
    node.halted.clear();
  }
  context_.Schedule(run);
  context_.effects.push_back(
      PublishPeers{run.record().job_id, run.record().number, run.record().round, run.record().peer_list});
  SendDesiredToAll(run, false);
}

void Lifecycle::SendDesired(const Run& run, const Node& node, bool is_urgent) {
  if (node.stream == 0) return;
  Message message = context_.NewMessage();
  v1::DesiredState& desired = *message->mutable_desired();
  desired.set_run(run.record().number);
  desired.set_phase(run.record().phase);
  // Agents ignore orders for a round below their own, so the order that ends the run names the highest known round.
  desired.set_round(run.IsOver() ? std::max(run.record().round, run.round_elsewhere) : run.record().round);
  desired.set_peers_digest(run.record().digest);
  desired.set_restart_count(run.record().restart_count);
  if (run.record().phase == v1::RUN_PHASE_RUNNING && !node.record().is_spare) {
    FillAssignment(run, node, *desired.mutable_assignment());
    for (std::string& remark : RemarksOn(run, node)) desired.add_remarks(std::move(remark));
  }
  desired.set_check_node(run.record().phase == v1::RUN_PHASE_RECOVERING && node.IsBeingChecked(run.record().round));
  if (run.record().phase == v1::RUN_PHASE_RECOVERING && run.record().last_abort) {
    const std::string count = RestartInWords(*run.record().last_abort, run.record().recent_restarts, run.MaxRestarts());
    desired.set_reason(absl::StrCat(count, count.empty() ? "" : ": ", run.record().last_abort->text()));
  }
  if (run.record().phase == v1::RUN_PHASE_STOPPING && run.record().first_failure)
    desired.set_reason(run.record().first_failure->text());
  desired.set_is_planned_stop(IsInPlannedStop(run));
  if (run.HasEnded()) *desired.mutable_outcome() = run.record().outcome;
  // An agent throws away an order that comes before its welcome, so an order must not overtake the welcome.
  const bool goes_at_once = is_urgent && node.has_reported;
  context_.effects.push_back(
      Send{node.stream, std::move(message), goes_at_once, goes_at_once ? run.record().job_id : ""});
}

void Lifecycle::SendDesiredToAll(const Run& run, bool is_urgent) {
  for (const auto& [id, node] : run.nodes) SendDesired(run, node, is_urgent);
}

}  // namespace muster::scheduler
