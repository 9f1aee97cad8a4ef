// The checks of a node that joins. Each refusal names the setting, both values and the remedy.
//
//   the node                                                  its refusal
//   has a setting that differs from the run's                 SETTINGS_DIFFER: see agreed_settings.cc
//   joins another user's job                                  SETTINGS_DIFFER, unless the job is shared
//   has more slots than are still needed                      EXTRA_NODE, unless it is a spare
//   has a rank table with a rank that is too high, that is    NODE_ID_INVALID
//     there twice, or that another server has
//   has a --node_rank that another machine has                NODE_ID_INVALID
//   has one slot, and as its id a number that is too high     NODE_ID_INVALID: the number would be its rank
//     or taken (1 and 01 are equal)
//   has a number as its id, and another node a name           NODE_ID_INVALID; also the other way round
//   has no id                                                 none: it gets its host name and a counter as its id
#include "scheduler/core/places/admission.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/ids.h"

namespace muster::scheduler {

v1::Refusal MakeRefusal(v1::Refusal::Reason reason, std::string text) {
  v1::Refusal refusal;
  refusal.set_reason(reason);
  refusal.set_text(std::move(text));
  return refusal;
}

v1::Refusal RefuseDrained(const Run& run, const std::string& node_id, const std::string& reason) {
  v1::Refusal refusal = MakeRefusal(
      v1::Refusal::DRAINED, absl::StrCat("node ", node_id, " has left job ", run.record().job_id, ": ", reason));
  refusal.set_by_scheduler(absl::StartsWith(reason, kDrainedByScheduler));
  return refusal;
}

v1::Refusal TryLater(std::string text, absl::Duration after) {
  v1::Refusal refusal = MakeRefusal(v1::Refusal::TRY_LATER, std::move(text));
  refusal.set_retry_after_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(after)));
  return refusal;
}

namespace {

// Returns the user of the nodes that are there. If none of them names one, or no node is there, it is the user that
// opened the run. A run without a node that has closed no round yet belongs to no one.
std::string OwnerOf(const Run& run) {
  for (const auto& [id, node] : run.nodes) {
    if (!node.record().info.user().empty()) return node.record().info.user();
  }
  if (run.nodes.empty() && run.record().round == 0) return "";
  const std::string& opened_by = run.record().opened_by;  // user@host
  return opened_by.substr(0, opened_by.rfind('@'));
}

bool IsShared(const Run& run) {
  return std::any_of(run.nodes.begin(), run.nodes.end(),
                     [](const auto& entry) { return entry.second.record().info.shares_job(); });
}

}  // namespace

std::optional<v1::Refusal> RefuseOtherUser(const Run& run, const v1::Join& join, const std::string& identity) {
  const std::string& user = join.node().user();
  const std::string owner = OwnerOf(run);
  if (owner.empty() || user.empty() || user == owner) return std::nullopt;
  if (!identity.empty() || join.node().shares_job() || IsShared(run)) return std::nullopt;
  return MakeRefusal(
      v1::Refusal::SETTINGS_DIFFER,
      absl::StrCat(
          "job ", run.record().job_id, " belongs to user ", owner, ", and this node is of user ", user,
          ": give your job another name (--job_id, MS_JOB_ID), or, if both users mean one job, start the node with "
          "--shared_job"));
}

std::optional<v1::Refusal> CheckIncarnation(const Run& run, const v1::Join& join) {
  if (!run.record().by_incarnation.contains(join.incarnation())) return std::nullopt;
  return MakeRefusal(v1::Refusal::STALE_CONNECT, "this agent has joined under another node id");
}

namespace {

v1::Refusal RefuseId(std::string text) { return MakeRefusal(v1::Refusal::NODE_ID_INVALID, std::move(text)); }

// A rank table lists the ranks of each server. Refuses a node if its server's ranks don't exist in the job, are listed
// twice, or are too few for its processes.
std::optional<v1::Refusal> CheckTable(const Run& run, const v1::JobSettings& settings, const std::string& id,
                                      const v1::NodeInfo& info) {
  std::set<uint32_t> own;
  for (const uint32_t rank : info.table_ranks()) {
    if (rank >= settings.worker_num()) {
      return RefuseId(absl::StrCat("the rank table gives this server rank ", rank,
                                   ", but with MS_WORKER_NUM=", settings.worker_num(), " the ranks are 0 to ",
                                   settings.worker_num() - 1, ": correct RANK_TABLE_FILE or MS_WORKER_NUM"));
    }
    if (!own.insert(rank).second) {
      return RefuseId(absl::StrCat("the rank table gives rank ", rank, " twice: correct RANK_TABLE_FILE"));
    }
  }
  int taken = info.slots_size();
  for (const auto& [other_id, other] : run.nodes) {
    const auto& theirs = other.record().info.table_ranks();
    if (other.record().is_spare || other_id == id || other.record().info.role() != info.role()) continue;
    if (std::equal(theirs.begin(), theirs.end(), info.table_ranks().begin(), info.table_ranks().end())) {
      taken += other.record().info.slots_size();
      continue;
    }
    const auto shared = std::find_if(theirs.begin(), theirs.end(), [&](uint32_t rank) { return own.contains(rank); });
    if (shared != theirs.end()) {
      return RefuseId(absl::StrCat("the rank table gives rank ", *shared, " to this server and to that of ",
                                   NodeText(other), ": use the same correct RANK_TABLE_FILE on every node"));
    }
  }
  if (taken <= info.table_ranks_size()) return std::nullopt;
  return RefuseId(absl::StrCat("the rank table gives this server ", info.table_ranks_size(),
                               " ranks, but its agents bring ", taken,
                               " processes: correct RANK_TABLE_FILE or --local_worker_num"));
}

std::optional<v1::Refusal> CheckNodeRank(const Run& run, const std::string& id, const v1::NodeInfo& info) {
  for (const auto& [other_id, other] : run.nodes) {
    if (other.record().is_spare || other_id == id || other.record().info.role() != info.role()) continue;
    if (other.record().info.has_node_rank() && other.record().info.node_rank() == info.node_rank() &&
        other.record().info.machine_id() != info.machine_id()) {
      return RefuseId(absl::StrCat("node rank ", info.node_rank(), " (--node_rank, MS_NODE_RANK) is taken by ",
                                   NodeText(other), ": give each machine its own"));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<v1::Refusal> CheckNodeId(const Run& run, const v1::JobSettings& settings, const std::string& id,
                                       const v1::NodeInfo& info) {
  if (info.table_ranks_size() > 0) return CheckTable(run, settings, id, info);
  const bool may_clash = run.record().slot_counts.MayClash(id, info);  // if false, other nodes need not be checked
  if (info.has_node_rank()) return may_clash ? CheckNodeRank(run, id, info) : std::nullopt;
  const bool is_number = IsAllDigits(id);
  const auto value = NumericId(id);
  const uint32_t last = settings.worker_num() - 1;
  if (is_number && !value) {
    return RefuseId(absl::StrCat("MS_NODE_ID ", id, " is too large a number: use 0 to ", last));
  }
  if (!IsWithinRanks(settings, id, info)) {
    return RefuseId(absl::StrCat(
        "MS_NODE_ID ", id, " is out of range: a number is the rank, and with MS_WORKER_NUM=", settings.worker_num(),
        " the ranks are 0 to ", last, "; correct MS_NODE_ID or MS_WORKER_NUM"));
  }
  if (!may_clash) return std::nullopt;
  for (const auto& [other_id, other] : run.nodes) {
    if (other.record().is_spare || other.record().info.table_ranks_size() > 0 || other.record().info.has_node_rank() ||
        other_id == id)
      continue;
    if (is_number && NumericId(other_id) == value) {
      return RefuseId(
          absl::StrCat("MS_NODE_ID ", id, " is the same number as ", NodeText(other), "'s: give each node its own"));
    }
    if (is_number != IsAllDigits(other_id)) {
      return RefuseId(
          absl::StrCat(id.empty() ? "this node has no MS_NODE_ID" : absl::StrCat("MS_NODE_ID ", id),
                       is_number    ? " is a number"
                       : id.empty() ? ""
                                    : " is no number",
                       ", but ", NodeText(other), " has ", is_number ? "a name" : "a number",
                       ": numbers are ranks, so either all nodes of a job have one (set MS_NODE_ID) or none"));
    }
  }
  return std::nullopt;
}

bool IsWithinRanks(const v1::JobSettings& settings, const std::string& id, const v1::NodeInfo& info) {
  const auto exists = [&settings](uint32_t rank) { return rank < settings.worker_num(); };
  const auto& table = info.table_ranks();
  if (!table.empty()) return std::all_of(table.begin(), table.end(), exists);
  const bool ids_are_ranks = settings.server_num() == 0 && !settings.hccl_cm_init() && !info.has_node_rank();
  if (!IsAllDigits(id) || !ids_are_ranks || info.slots_size() != 1) return true;
  const auto rank = NumericId(id);
  return rank && exists(*rank);
}

uint32_t CountConnectedSlots(const Run& run, v1::Role role) {
  uint32_t slots = 0;
  for (const auto& [id, node] : run.nodes) {
    if (node.record().is_spare || node.record().info.role() != role || node.stream == 0) continue;
    slots += static_cast<uint32_t>(node.record().info.slots_size());
  }
  return slots;
}

std::optional<v1::Refusal> CheckRoom(const Run& run, const v1::JobSettings& settings, const v1::NodeInfo& info) {
  const uint32_t needed = info.role() == v1::ROLE_SERVER ? settings.server_num() : settings.worker_num();
  const uint32_t here = run.record().slot_counts.RegularSlots(info.role());
  const uint32_t more = static_cast<uint32_t>(info.slots_size());
  if (here + more <= needed) return std::nullopt;
  const char* setting = info.role() == v1::ROLE_SERVER ? "MS_SERVER_NUM" : "MS_WORKER_NUM";
  if (here == needed) {
    return MakeRefusal(v1::Refusal::EXTRA_NODE,
                       absl::StrCat("one node too many: all ", needed, " ", RoleName(info.role()), "s of job ",
                                    run.record().job_id, " are there already (", setting, "=", needed,
                                    "); raise it on every node, or start this node with --spare to stand by"));
  }
  return MakeRefusal(
      v1::Refusal::EXTRA_NODE,
      absl::StrCat("this node brings ", more, " processes, but there is room for ", needed - here, " only: ", here,
                   " of ", needed, " ", RoleName(info.role()), "s of job ", run.record().job_id, " are there already (",
                   setting, "=", needed, "); correct --local_worker_num or ", setting));
}

std::string ChooseNodeId(const Run& run, const std::string& host_name) {
  std::string base;
  for (const char c : host_name.substr(0, host_name.find('.'))) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    base += is_plain ? c : '_';
  }
  if (base.empty()) base = "node";
  if (base.size() > 64) base.resize(64);
  for (uint64_t k = 0;; ++k) {
    std::string id = absl::StrCat(base, "-", k);
    if (!run.nodes.contains(id) && !run.record().gone.contains(id)) return id;
  }
}

}  // namespace muster::scheduler
