#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/show/looks.h"
#include "common/show/table.h"
#include "common/show/words.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

std::string Ago(int64_t ms) { return absl::StrCat(ShortAge(absl::Milliseconds(ms)), " ago"); }

std::string Unnamed(uint32_t count, const char* what, bool has_named) {
  if (count == 0) return "";
  return absl::StrCat(has_named ? "and " : "", count, has_named ? " more " : " ", what, count == 1 ? "" : "s",
                      ": it is not known which nodes bring ", count == 1 ? "it" : "them", "\n");
}

std::string MissingTable(const v1::MissingNodes& missing) {
  Table table({{"MISSING"}, {"HOST"}, {"ADDRESS"}, {"ROLE"}, {"RANKS"}, {"SEEN", Align::kRight}, {"WHY"}});
  for (const v1::MissingNode& node : missing.nodes()) {
    table.AddRow({node.node_id(), node.host_name(), node.address(), RoleWord(node.role()),
                  CompressRanks({node.ranks().begin(), node.ranks().end()}),
                  node.last_seen_ms() < 0 ? "not yet" : Ago(node.last_seen_ms()), node.why()});
  }
  return table.rows() == 0 ? "" : table.Print();
}

std::string RefusedTable(const v1::MissingNodes& missing) {
  Table table({{"REFUSED"}, {"HOST"}, {"ADDRESS"}, {"LAST", Align::kRight}, {"TIMES", Align::kRight}, {"WHY"}});
  for (const v1::RefusedJoin& refused : missing.refused()) {
    table.AddRow({refused.node_id(), refused.host_name(), refused.address(), Ago(refused.ago_ms()),
                  absl::StrCat(refused.times()), refused.text()});
  }
  return table.rows() == 0 ? "" : table.Print();
}

Json NodeJson(const v1::MissingNode& node) {
  Json ranks = Json::array();
  for (const uint32_t rank : node.ranks()) ranks.push_back(rank);
  return Json{{"node_id", node.node_id()},
              {"host_name", node.host_name().empty() ? Json() : Json(node.host_name())},
              {"address", node.address().empty() ? Json() : Json(node.address())},
              {"role", RoleWord(node.role())},
              {"slots", node.slots() == 0 ? Json() : Json(node.slots())},
              {"ranks", ranks},
              {"last_seen_ms", node.last_seen_ms() < 0 ? Json() : Json(node.last_seen_ms())},
              {"why", node.why()}};
}

}  // namespace

std::string RenderMissing(const std::vector<NodesOfJob>& jobs) {
  std::string out;
  for (const NodesOfJob& job : jobs) {
    const v1::MissingNodes& missing = job.reply.missing();
    absl::StrAppend(&out, out.empty() ? "" : "\n", "job ", EscapeControl(job.job_id), ", run ", job.reply.run(), ": ");
    const bool misses_any = missing.nodes_size() > 0 || missing.workers_unnamed() + missing.servers_unnamed() > 0;
    absl::StrAppend(&out,
                    missing.has_waiting() ? EscapeControl(missing.waiting().text())
                    : misses_any          ? "it goes on, but not all nodes are connected"
                                          : "no node is missing",
                    "\n", MissingTable(missing));
    absl::StrAppend(&out, Unnamed(missing.workers_unnamed(), "worker", missing.nodes_size() > 0),
                    Unnamed(missing.servers_unnamed(), "server", missing.nodes_size() > 0), RefusedTable(missing));
  }
  return out.empty() ? "no job yet\n" : out;
}

std::string MissingJson(const std::vector<NodesOfJob>& jobs) {
  Json listed = Json::array();
  for (const NodesOfJob& job : jobs) {
    const v1::MissingNodes& missing = job.reply.missing();
    Json nodes = Json::array();
    for (const v1::MissingNode& node : missing.nodes()) nodes.push_back(NodeJson(node));
    Json refused = Json::array();
    for (const v1::RefusedJoin& join : missing.refused()) {
      refused.push_back(Json{{"node_id", join.node_id().empty() ? Json() : Json(join.node_id())},
                             {"host_name", join.host_name()},
                             {"address", join.address()},
                             {"reason", join.reason()},
                             {"text", join.text()},
                             {"ago_ms", join.ago_ms()},
                             {"times", join.times()}});
    }
    listed.push_back(Json{{"job_id", job.job_id},
                          {"run", job.reply.run()},
                          {"waiting", missing.has_waiting() ? Json(missing.waiting().text()) : Json()},
                          {"missing", nodes},
                          {"workers_unnamed", missing.workers_unnamed()},
                          {"servers_unnamed", missing.servers_unnamed()},
                          {"refused", refused}});
  }
  return EscapeJson(Json{{"jobs", listed}}.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace muster
