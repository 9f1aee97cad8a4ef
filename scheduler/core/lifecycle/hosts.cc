// Decides about a node with a host that differs from the others (common/hosts/compare.h):
//
//   the difference                                  what happens
//   is fatal by the node's own --preflight_fatal    the node is refused before the round, and the job waits for it
//   is a warning or an error, but not fatal         the node takes part, and the log has a warning
//   shows a slow node, with --exclude_stragglers    a spare takes its place; if none fits, the row above
#include "scheduler/core/lifecycle/hosts.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "common/hosts/compare.h"

namespace muster::scheduler {
namespace {

constexpr char kFactsAreOfTheStart[] =
    " (the other nodes' values are from the start of their agents: restart ms-worker there after a change)";

}  // namespace

HostsCheck JudgeHosts(const std::vector<const Node*>& members) {
  std::vector<ComparedHost> hosts;
  std::map<std::string, const Node*> by_id;
  for (const Node* node : members) {
    if (node->record().info.host_facts_size() == 0) continue;
    hosts.push_back({node->record().id, &node->record().info});
    by_id.emplace(node->record().id, node);
  }
  HostsCheck check;
  std::map<std::string, std::string> unfit;
  for (const HostDifference& difference : CompareHosts(hosts)) {
    const v1::HostFinding& finding = difference.finding;
    const std::string text = absl::StrCat(finding.text(), "; ", finding.remedy());
    bool is_fatal = false;
    for (const std::string& id : difference.node_ids) {
      const Node* node = by_id.at(id);
      if (finding.check() == kScoreCheck) {  // a slow node is no failed check, whatever --preflight_fatal is
        check.slow.push_back(node);
        if (FactOf(node->record().info, kFactStragglers) == kExcluded) check.stragglers.push_back(node);
        continue;
      }
      if (!IsFatal(finding, FactOf(node->record().info, kFactFatal))) continue;
      is_fatal = true;
      unfit.emplace(id,
                    absl::StrCat("its host does not fit the others (--preflight host): ", text, kFactsAreOfTheStart));
    }
    if (!is_fatal && finding.level() >= v1::HostFinding::WARNING) {
      check.warnings.push_back(absl::StrCat("preflight: ", finding.check(), ": ", text));
    }
  }
  for (const auto& [id, reason] : unfit) check.unfit.push_back({by_id.at(id), reason});
  return check;
}

}  // namespace muster::scheduler
