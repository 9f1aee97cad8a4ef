#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/show/looks.h"
#include "common/show/table.h"
#include "common/show/words.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

std::string AgeText(int64_t ms) { return ShortAge(absl::Milliseconds(ms)); }

// Orders ranks by their step. A rank that reports no numbers comes after those that do, and is ordered by its silence.
bool IsSlower(const v1::RankStatus& a, const v1::RankStatus& b) {
  const auto key = [](const v1::RankStatus& rank) {
    return std::make_tuple(!rank.has_step(), rank.step(), ~rank.since_progress_ms(), rank.rank());
  };
  return key(a) < key(b);
}

// Orders nodes by their silence. A node that has sent this scheduler nothing comes first.
bool IsLater(const v1::NodeStatus& a, const v1::NodeStatus& b) {
  const auto key = [](const v1::NodeStatus& node) {
    return std::make_tuple(node.last_seen_ms() >= 0, -node.last_seen_ms(), node.node_id());
  };
  return key(a) < key(b);
}

template <typename Row, typename Less>
void KeepFirst(std::vector<Row>& rows, size_t most, Less less) {
  const size_t kept = std::min(most, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(), less);
  rows.resize(kept);
}

std::string Behind(const TopOfJob& job, const v1::RankStatus& rank) {
  if (!rank.has_step() || rank.step() == job.fastest_step) return "";
  return absl::StrCat(job.fastest_step - rank.step());
}

}  // namespace

TopOfJob TopOf(const std::string& job_id, const v1::RanksReply& ranks, const v1::NodesReply& nodes, size_t lines) {
  TopOfJob top;
  top.job_id = job_id;
  top.run = nodes.run();
  for (const v1::RankStatus& rank : ranks.ranks()) {
    top.fastest_step = std::max(top.fastest_step, rank.step());
    if (rank.has_since_progress_ms()) top.slow.push_back(rank);
  }
  for (const v1::NodeStatus& node : nodes.nodes()) {
    if (node.state() == "connected" || node.state() == "disconnected" || (node.state() == "lost" && node.slots() > 0)) {
      top.late.push_back(node);
    }
  }
  KeepFirst(top.slow, lines, IsSlower);
  KeepFirst(top.late, lines, IsLater);
  return top;
}

std::string RenderTop(const std::vector<TopOfJob>& jobs) {
  std::string out;
  for (const TopOfJob& job : jobs) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", "job ", EscapeControl(job.job_id), ", run ", job.run, "\n");
    Table slow({{"SLOW RANK", Align::kRight},
                {"NODE"},
                {"HOST"},
                {"STEP", Align::kRight},
                {"BEHIND", Align::kRight},
                {"UNCHANGED", Align::kRight}});
    for (const v1::RankStatus& rank : job.slow) {
      slow.AddRow({absl::StrCat(rank.rank()), rank.node_id(), rank.host_name(),
                   rank.has_step() ? absl::StrCat(rank.step()) : "", Behind(job, rank),
                   AgeText(static_cast<int64_t>(rank.since_progress_ms()))});
    }
    absl::StrAppend(&out, slow.rows() == 0 ? "no rank shows progress (--expect, MS_PROGRESS_FILE)\n" : slow.Print());
    Table late({{"LATE NODE"}, {"STATE"}, {"HOST"}, {"RANKS"}, {"HEARD", Align::kRight}});
    for (const v1::NodeStatus& node : job.late) {
      late.AddRow({node.node_id(), node.state(), node.host_name(),
                   CompressRanks({node.ranks().begin(), node.ranks().end()}),
                   node.last_seen_ms() < 0 ? "not yet" : absl::StrCat(AgeText(node.last_seen_ms()), " ago")});
    }
    if (late.rows() > 0) absl::StrAppend(&out, late.Print());
  }
  return out.empty() ? "no job yet\n" : out;
}

std::string TopJson(const std::vector<TopOfJob>& jobs) {
  Json listed = Json::array();
  for (const TopOfJob& job : jobs) {
    Json slow = Json::array();
    for (const v1::RankStatus& rank : job.slow) {
      slow.push_back(Json{{"rank", rank.rank()},
                          {"role", RoleWord(rank.role())},
                          {"node_id", rank.node_id()},
                          {"host_name", rank.host_name()},
                          {"step", rank.has_step() ? Json(rank.step()) : Json()},
                          {"since_progress_ms", rank.since_progress_ms()}});
    }
    Json late = Json::array();
    for (const v1::NodeStatus& node : job.late) {
      late.push_back(Json{{"node_id", node.node_id()},
                          {"state", node.state()},
                          {"host_name", node.host_name()},
                          {"last_seen_ms", node.last_seen_ms() < 0 ? Json() : Json(node.last_seen_ms())}});
    }
    listed.push_back(Json{
        {"job_id", job.job_id}, {"run", job.run}, {"fastest_step", job.fastest_step}, {"slow", slow}, {"late", late}});
  }
  return EscapeJson(Json{{"jobs", listed}}.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace muster
