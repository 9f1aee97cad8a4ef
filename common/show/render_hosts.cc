#include <algorithm>
#include <list>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "common/hosts/compare.h"
#include "common/show/looks.h"
#include "common/show/table.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;
using v1::HostFinding;

// Returns the nodes that are still in the job.
std::vector<const v1::NodeStatus*> NodesOf(const NodesOfJob& job) {
  std::vector<const v1::NodeStatus*> nodes;
  for (const v1::NodeStatus& node : job.reply.nodes()) {
    if (!node.machine_id().empty()) nodes.push_back(&node);
  }
  return nodes;
}

std::vector<HostDifference> DifferencesOf(const NodesOfJob& job) {
  std::list<v1::NodeInfo> infos;
  std::vector<ComparedHost> hosts;
  for (const v1::NodeStatus* node : NodesOf(job)) {
    v1::NodeInfo& info = infos.emplace_back();
    info.set_machine_id(node->machine_id());
    *info.mutable_host_facts() = node->host_facts();
    hosts.push_back({node->node_id(), &info});
  }
  return CompareHosts(hosts);
}

std::string CellOf(const v1::NodeStatus& node, const std::string& check) {
  for (const HostFinding& finding : node.host_findings()) {
    if (finding.check() == check) return finding.level() <= HostFinding::NOT_CHECKED ? "?" : LevelWord(finding.level());
  }
  return "";
}

std::string Line(const std::string& whose, const HostFinding& finding) {
  return absl::StrCat(whose, ": ", LevelWord(finding.level()), ": ", finding.check(), ": ",
                      EscapeControl(finding.text()), "; ", EscapeControl(finding.remedy()), "\n");
}

std::string TableOf(const std::vector<const v1::NodeStatus*>& nodes) {
  std::vector<std::string> checks;
  for (const v1::NodeStatus* node : nodes) {
    for (const HostFinding& finding : node->host_findings()) {
      if (std::find(checks.begin(), checks.end(), finding.check()) == checks.end()) checks.push_back(finding.check());
    }
  }
  std::vector<Column> columns = {{"NODE"}, {"HOST"}};
  for (const std::string& check : checks) columns.push_back({check});
  Table table(columns);
  for (const v1::NodeStatus* node : nodes) {
    std::vector<std::string> cells = {node->node_id(), node->host_name()};
    for (const std::string& check : checks) cells.push_back(CellOf(*node, check));
    table.AddRow(std::move(cells));
  }
  return table.Print();
}

std::string RenderJob(const NodesOfJob& job) {
  const std::vector<const v1::NodeStatus*> nodes = NodesOf(job);
  if (nodes.empty()) return "no node is in the job\n";
  std::string lines, unchecked;
  for (const v1::NodeStatus* node : nodes) {
    if (node->host_findings().empty()) absl::StrAppend(&unchecked, unchecked.empty() ? "" : ", ", node->node_id());
    for (const HostFinding& finding : node->host_findings()) {
      if (finding.level() >= HostFinding::WARNING) lines += Line(absl::StrCat("node ", node->node_id()), finding);
    }
  }
  std::vector<std::string> equal;
  for (const HostDifference& difference : DifferencesOf(job)) {
    if (difference.finding.level() >= HostFinding::WARNING) {
      lines += Line("between nodes", difference.finding);
    } else {
      equal.push_back(difference.finding.check());
    }
  }
  std::string out = TableOf(nodes);
  if (!equal.empty()) absl::StrAppend(&out, "between nodes: ok: ", absl::StrJoin(equal, ", "), "\n");
  if (!unchecked.empty()) absl::StrAppend(&out, "without --preflight host, so not checked: ", unchecked, "\n");
  return lines.empty() ? out : absl::StrCat(out, "\n", lines);
}

Json FindingJson(const HostFinding& finding) {
  return Json{{"check", finding.check()},
              {"level", LevelWord(finding.level())},
              {"text", finding.text()},
              {"remedy", finding.remedy()}};
}

}  // namespace

std::string RenderHosts(const std::vector<NodesOfJob>& jobs) {
  if (jobs.empty()) return "no job yet\n";
  std::string out;
  for (const NodesOfJob& job : jobs) {
    if (jobs.size() > 1) absl::StrAppend(&out, out.empty() ? "" : "\n", "job ", job.job_id, "\n");
    out += RenderJob(job);
  }
  return out;
}

std::string HostsJson(const std::vector<NodesOfJob>& jobs) {
  Json all = Json::array();
  for (const NodesOfJob& job : jobs) {
    Json nodes = Json::array();
    for (const v1::NodeStatus* node : NodesOf(job)) {
      Json facts = Json::object();
      for (const v1::HostFact& fact : node->host_facts()) facts[fact.name()] = fact.value();
      Json checks = Json::array();
      for (const HostFinding& finding : node->host_findings()) checks.push_back(FindingJson(finding));
      nodes.push_back(
          {{"node_id", node->node_id()}, {"host_name", node->host_name()}, {"facts", facts}, {"checks", checks}});
    }
    Json between = Json::array();
    for (const HostDifference& difference : DifferencesOf(job)) {
      Json one = FindingJson(difference.finding);
      one["node_ids"] = difference.node_ids;
      between.push_back(std::move(one));
    }
    all.push_back({{"job_id", job.job_id}, {"run", job.reply.run()}, {"nodes", nodes}, {"between_nodes", between}});
  }
  return EscapeJson(Json{{"jobs", all}}.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

bool HasHostErrors(const std::vector<NodesOfJob>& jobs) {
  for (const NodesOfJob& job : jobs) {
    for (const v1::NodeStatus* node : NodesOf(job)) {
      for (const HostFinding& finding : node->host_findings()) {
        if (finding.level() == HostFinding::ERROR) return true;
      }
    }
    for (const HostDifference& difference : DifferencesOf(job)) {
      if (difference.finding.level() == HostFinding::ERROR) return true;
    }
  }
  return false;
}

}  // namespace muster
