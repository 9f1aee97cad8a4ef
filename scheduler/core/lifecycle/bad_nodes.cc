// Takes nodes out of a job on which something is broken. Their ranks would fail there again, and use up the restarts.
//
// | the cause of the round's end                               | a spare fits         | no spare fits             |
// |------------------------------------------------------------|----------------------|---------------------------|
// | a device or a file system failed (ShowsBadNode)            | the node is drained; | the node stays; a warning |
// |                                                            | the restart is free  | names it                  |
// | the node's third failure in an hour that may come from it  | the node is drained  | the node stays; a warning |
// | (MayComeFromNode, --max_node_failures)                     |                      | names it                  |
// | any other                                                  | nothing              | nothing                   |
//
// A node that stays and has a command of --node_check must pass this check before the next round, if its failure calls
// for that (CallsForNodeCheck). A node that does not pass leaves by itself. A spare on another machine can take its
// place.
//
// The scheduler decides this when all nodes have quit the round, because only then all failures are known.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/causes/failure_kind.h"
#include "common/hosts/compare.h"
#include "scheduler/core/facts/cause.h"
#include "scheduler/core/lifecycle/lifecycle.h"
#include "scheduler/core/places/admission.h"
#include "scheduler/core/places/round_addresses.h"
#include "scheduler/core/places/standing_in.h"

namespace muster::scheduler {
namespace {

// Returns the first spare that fits the node and is on another machine; null: none. A fault of this machine would meet
// its spare, too.
const Node* FindSpareFor(const Node& node, std::vector<const Node*> spares) {
  std::erase_if(spares, [&node](const Node* spare) {
    return spare->record().info.machine_id() == node.record().info.machine_id();
  });
  return TakeSpareFor(node, spares);
}

// Returns the members with `spare` in the place of `node`.
std::vector<const Node*> WithSpare(std::vector<const Node*> members, const Node& node, const Node* spare) {
  std::replace(members.begin(), members.end(), &node, spare);
  return members;
}

// True if one of the spares fits the node, and the other members can reach it.
bool CanReplace(const Node& node, const std::vector<const Node*>& members, const std::vector<const Node*>& spares,
                const std::string& own_address) {
  const Node* spare = FindSpareFor(node, spares);
  return spare != nullptr && ChooseAddresses(WithSpare(members, node, spare), own_address).unreachable.empty();
}

// True if the host of `spare` fits the others, and is not slow itself, in the place of `node`.
bool IsBetter(const Node* spare, const Node& node, const std::vector<const Node*>& members) {
  const HostsCheck check = JudgeHosts(WithSpare(members, node, spare));
  const bool is_slow = std::find(check.slow.begin(), check.slow.end(), spare) != check.slow.end();
  return !is_slow && std::none_of(check.unfit.begin(), check.unfit.end(),
                                  [spare](const Unreachable& one) { return one.node == spare; });
}

// Returns the failure that shows a bad node. If none does, returns the failure that is the cause; null: there is none.
const CauseCandidate* FindFault(const Run& run) {
  if (run.candidates.empty()) return nullptr;
  const auto shown = std::find_if(run.candidates.begin(), run.candidates.end(),
                                  [](const CauseCandidate& one) { return ShowsBadNode(one.cause); });
  return shown != run.candidates.end() ? &*shown : &ChooseCause(run.candidates);
}

}  // namespace

bool Lifecycle::IsDrainedFor(const Run& run, const v1::Cause& cause) const {
  const Node* node = run.nodes.Find(cause.node_id());
  return ShowsBadNode(cause) && node != nullptr && !node->record().is_spare &&
         FindSpareFor(*node, SparesStandingBy(run)) != nullptr;
}

bool Lifecycle::DrainBadNode(Run& run, const std::vector<const Node*>& members,
                             const std::vector<const Node*>& spares) {
  if (run.judged_round == run.record().round) return false;
  run.judged_round = run.record().round;
  const CauseCandidate* fault = FindFault(run);
  Node* node = fault == nullptr ? nullptr : run.nodes.Find(fault->cause.node_id());
  if (node == nullptr || node->record().is_spare || node->record().is_lost) return false;
  const v1::Cause cause = fault->cause;
  std::string why = absl::StrCat(WithoutQuote(cause.text()), " (", cause.reason(), ")");
  if (!ShowsBadNode(cause)) {
    if (!MayComeFromNode(cause)) return false;
    const size_t failures = CountFailure(run, node->record().id);
    if (context_.options.max_node_failures == 0 || failures < context_.options.max_node_failures) return false;
    why = absl::StrCat(failures, " rounds failed on it within an hour, last: ", WithoutQuote(cause.text()));
  }
  if (!CanReplace(*node, members, spares, context_.options.own_address)) {
    context_.Warn(run, "node_suspect",
                  absl::StrCat(NodeText(*node), " may be broken: ", why,
                               "; no spare fits, so it stays in the job: start one with --spare, or take the node out "
                               "with `ms-ctl drain ",
                               node->record().id, "`"));
    return false;
  }
  run.faulty_machines.insert(node->record().info.machine_id());
  run.has_free_restart = false;
  DrainForFault(run, *node, why);
  run.node_failures.erase(node->record().id);
  return true;
}

void Lifecycle::DrainForFault(const Run& run, const Node& node, const std::string& why) {
  v1::Record record = context_.NewRecord();
  v1::NodeDraining& draining = *record.mutable_node_draining();
  SetHead(draining, run, node);
  draining.set_incarnation(node.record().incarnation);
  draining.set_is_draining(true);
  draining.set_reason(absl::StrCat(kDrainedByScheduler, why));
  CutText(*draining.mutable_reason(), kMaxShortTextBytes);
  context_.Write(std::move(record));
}

bool Lifecycle::AwaitsNodeCheck(Run& run) {
  const uint32_t round = run.record().round;
  if (std::exchange(run.checks_asked_round, round) != round) AskForNodeChecks(run);
  return std::any_of(run.nodes.begin(), run.nodes.end(),
                     [round](const auto& entry) { return entry.second.IsBeingChecked(round); });
}

void Lifecycle::AskForNodeChecks(Run& run) {
  if (run.candidates.empty()) return;
  const CauseCandidate* chosen = &ChooseCause(run.candidates);
  for (const CauseCandidate& one : run.candidates) {
    Node* node = run.nodes.Find(one.cause.node_id());
    if ((&one != chosen && !ShowsBadNode(one.cause)) || !CallsForNodeCheck(one.cause) || node == nullptr) continue;
    const bool is_member = node->stream != 0 && !node->record().is_spare && !node->record().is_lost;
    if (!is_member || FactOf(node->record().info, kFactNodeCheck).empty()) continue;
    node->check_asked = run.record().round;
    SendDesired(run, *node, true);
  }
}

bool Lifecycle::DrainStraggler(Run& run, const std::vector<const Node*>& members,
                               const std::vector<const Node*>& stragglers) {
  std::vector<const Node*> spares = SparesStandingBy(run);
  std::erase_if(spares, [&members](const Node* spare) {
    return std::find(members.begin(), members.end(), spare) != members.end();  // it fills another place
  });
  for (const Node* slow : stragglers) {
    const Node* spare = slow->record().is_spare ? nullptr : FindSpareFor(*slow, spares);
    if (spare == nullptr || !IsBetter(spare, *slow, members)) continue;
    if (!CanReplace(*slow, members, spares, context_.options.own_address)) continue;
    Node& node = run.nodes.at(slow->record().id);
    DrainForFault(run, node, "it is slower than the others (--exclude_stragglers)");
    Dismiss(run, node);
    run.spare_deadline = context_.now.monotonic;  // nothing else is missing: the spare need not wait
    return true;
  }
  return false;
}

// Returns the node's failures within the last hour, with this one.
size_t Lifecycle::CountFailure(Run& run, const std::string& node_id) {
  std::deque<MonotonicTime>& times = run.node_failures[node_id];
  times.push_back(context_.now.monotonic);
  while (context_.now.monotonic - times.front() >= kBudgetWindow) times.pop_front();
  return times.size();
}

}  // namespace muster::scheduler
