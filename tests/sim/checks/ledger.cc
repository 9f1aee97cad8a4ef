#include "tests/sim/checks/ledger.h"

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/peer_node.h"

namespace muster::sim {
namespace {

// In these cases the processes still share values while they are being stopped.
bool IsWanted(const v1::Cause& cause) {
  return cause.kind() == v1::Cause::STOPPED_BY_USER ||
         (cause.kind() == v1::Cause::NODE_LEFT && cause.signal() != 0 && cause.signal() != SIGKILL);
}

}  // namespace

const RunLedger* Ledger::Find(const std::string& job_id, uint64_t run) const {
  const auto it = runs_.find({job_id, run});
  return it == runs_.end() ? nullptr : &it->second;
}

template <typename Record, typename Method>
std::string Ledger::InRun(const Record& record, bool may_have_ended, Method method) {
  const auto it = runs_.find({record.job_id(), record.run()});
  if (it == runs_.end()) return absl::StrCat("a record of run ", record.run(), ", which was never opened");
  if (it->second.has_ended && !may_have_ended)
    return absl::StrCat("a record of run ", record.run(), ", which has ended");
  return method(it->second);
}

std::string Ledger::Take(const v1::Record& record) {
  switch (record.kind_case()) {
    case v1::Record::kClusterFounded:
      if (!cluster_id_.empty()) return "the cluster was founded twice";
      cluster_id_ = record.cluster_founded().cluster_id();
      return "";
    case v1::Record::kTermBegun:
      if (record.term_begun().term() <= term_) return "the term fell";
      term_ = record.term_begun().term();
      return "";
    case v1::Record::kRunOpened:
      return TakeOpened(record.run_opened());
    case v1::Record::kNodeJoined:
      return InRun(record.node_joined(), false, [&](RunLedger& run) { return TakeJoined(record.node_joined(), run); });
    case v1::Record::kNodeRemoved:
      // Allowed after the end, too: a node that leaves then does not matter.
      return InRun(record.node_removed(), record.node_removed().why() == v1::NodeRemoved::LEFT,
                   [&](RunLedger& run) { return TakeRemoved(record.node_removed(), run); });
    case v1::Record::kRoundClosed:
      return InRun(record.round_closed(), false,
                   [&](RunLedger& run) { return TakeClosed(record.round_closed(), run); });
    case v1::Record::kNodeReported:
      // Allowed after the end, too: the agents' remaining reports come then.
      return InRun(record.node_reported(), true,
                   [&](RunLedger& run) { return TakeReported(record.node_reported(), run); });
    case v1::Record::kRunFailing:
      return InRun(record.run_failing(), false, [&](RunLedger& run) {
        run.is_over = true;
        run.is_store_closed = !IsWanted(record.run_failing().first());
        return std::string();
      });
    case v1::Record::kRunEnded:
      return InRun(record.run_ended(), false, [&](RunLedger& run) {
        run.is_over = run.has_ended = run.is_store_closed = true;
        run.outcome = record.run_ended().outcome();
        return std::string();
      });
    case v1::Record::kRunForgotten:
      runs_.erase({record.run_forgotten().job_id(), record.run_forgotten().run()});
      return "";
    case v1::Record::kNodeLost:
      return InRun(record.node_lost(), false, [&](RunLedger& run) { return TakeLost(record.node_lost(), run); });
    case v1::Record::kNodeReturned:
      return InRun(record.node_returned(), false,
                   [&](RunLedger& run) { return TakeReturned(record.node_returned(), run); });
    case v1::Record::kNodeDraining:
      return InRun(record.node_draining(), false, [&](RunLedger& run) {
        const auto node = run.roster.find(record.node_draining().node_id());
        return node != run.roster.end() && node->second == record.node_draining().incarnation()
                   ? std::string()
                   : std::string("a node that isn't there is drained");
      });
    case v1::Record::kNodeRecertified:
      return "no node has a certificate here";
    case v1::Record::kIncarnationGone:
      return InRun(record.incarnation_gone(), false,
                   [&](RunLedger& run) { return TakeGone(record.incarnation_gone(), run); });
    case v1::Record::kRoundAborted:
      return InRun(record.round_aborted(), false,
                   [&](RunLedger& run) { return TakeAborted(record.round_aborted(), run); });
    case v1::Record::kSlotRestarted:
      return InRun(record.slot_restarted(), false, [&](RunLedger& run) {
        return run.is_aborted ? std::string("a process starts again in a round that was given up") : std::string();
      });
    case v1::Record::kStoreChanged:
      return InRun(record.store_changed(), false,
                   [&](RunLedger& run) { return TakeStoreChanged(record.store_changed(), run); });
    case v1::Record::kQuorumChanged:  // agents have no replicas here
      return "a quorum without a request";
    case v1::Record::kSnapshot:
      return "";  // changes nothing
    case v1::Record::KIND_NOT_SET:
      return "an empty record";
  }
  return "an unknown record";
}

std::string Ledger::TakeOpened(const v1::RunOpened& record) {
  uint64_t& last = last_run_[record.job_id()];
  if (record.run() <= last) return absl::StrCat("the run number fell from ", last, " to ", record.run());
  for (const auto& [key, run] : runs_) {
    if (key.first == record.job_id() && !run.is_over) {
      return absl::StrCat("run ", record.run(), " was opened while run ", key.second, " lives");
    }
  }
  last = record.run();
  runs_[{record.job_id(), record.run()}] = {};
  return "";
}

std::string Ledger::TakeJoined(const v1::NodeJoined& record, RunLedger& run) {
  if (record.takes_over()) {
    if (run.lost.erase(record.node_id()) == 0) return absl::StrCat("node ", record.node_id(), " took over a live one");
    run.dead.insert(run.roster.at(record.node_id()));
    run.events_through.erase(run.roster.at(record.node_id()));
    run.roster.erase(record.node_id());
  }
  if (!run.roster.try_emplace(record.node_id(), record.incarnation()).second) {
    return absl::StrCat("node ", record.node_id(), " joined while another incarnation of it is there");
  }
  if (run.dead.contains(record.incarnation())) {
    return absl::StrCat("a dead incarnation of node ", record.node_id(), " joined again");
  }
  run.joined.insert(record.incarnation());
  run.events_through.try_emplace(record.incarnation(), 0);
  return "";
}

std::string Ledger::TakeRemoved(const v1::NodeRemoved& record, RunLedger& run) {
  const auto it = run.roster.find(record.node_id());
  if (it == run.roster.end()) return absl::StrCat("node ", record.node_id(), " was removed but is not there");
  if (it->second != record.incarnation()) {
    return absl::StrCat("node ", record.node_id(), " was removed by what happened to another incarnation");
  }
  if (record.is_confirmed()) run.dead.insert(it->second);
  run.events_through.erase(it->second);
  run.roster.erase(it);
  return "";
}

std::string Ledger::TakeClosed(const v1::RoundClosed& record, RunLedger& run) {
  if (record.round() <= run.round) return "the round fell";
  v1::PeerList peers;
  if (!peers.ParseFromString(record.peer_list())) return "a peer list that can't be read";
  if (peers.job_id() != record.job_id() || peers.run() != record.run() || peers.round() != record.round()) {
    return "a peer list of another round";
  }
  if (run.round > 0 && !run.is_aborted) return "a round was closed beside a living one";
  const auto before = run.ranks;
  std::map<std::string, std::string> stands_for;
  for (const v1::Replacement& replacement : record.replacements()) {
    const std::string& lost = replacement.lost();
    if (run.lost.erase(lost) == 0) return absl::StrCat("node ", lost, " was replaced but is not lost");
    run.dead.insert(run.roster.at(lost));
    run.events_through.erase(run.roster.at(lost));
    run.roster.erase(lost);
    stands_for[replacement.spare()] = lost;
  }
  if (!run.lost.empty()) return absl::StrCat("a round without node ", *run.lost.begin(), ", which is lost");
  if (!run.stale.empty()) return absl::StrCat("a round beside the old processes of ", run.stale.begin()->first);
  run.is_aborted = run.is_store_closed = false;
  run.round = record.round();
  run.digest = record.digest();
  run.ranks.clear();
  std::set<std::pair<v1::Role, uint32_t>> given;
  for (const v1::PeerNode& node : peers.nodes()) {
    if (!run.roster.contains(node.node_id()))
      return absl::StrCat("node ", node.node_id(), " got ranks but is not there");
    auto& [role, ranks] = run.ranks[node.node_id()];
    role = node.role();
    for (int slot = 0; slot < SlotCount(node); ++slot) {
      const uint32_t rank = RankOf(node, slot);
      if (!given.insert({role, rank}).second) return absl::StrCat("rank ", rank, " was given twice");
      ranks.push_back(rank);
    }
  }
  for (const auto& [node, had] : before) {
    const auto spare =
        std::find_if(stands_for.begin(), stands_for.end(), [&node = node](const auto& s) { return s.second == node; });
    const auto has = run.ranks.find(spare == stands_for.end() ? node : spare->first);
    if (has == run.ranks.end() || has->second != had) return absl::StrCat("the ranks of node ", node, " changed");
  }
  if (given.size() != peers.worker_num() + peers.server_num()) return "not all ranks were given";
  return "";
}

std::string Ledger::TakeLost(const v1::NodeLost& record, RunLedger& run) {
  const auto it = run.roster.find(record.node_id());
  if (it == run.roster.end() || it->second != record.incarnation()) {
    return absl::StrCat("node ", record.node_id(), " was lost by what happened to another incarnation");
  }
  if (!run.lost.insert(record.node_id()).second) return absl::StrCat("node ", record.node_id(), " was lost twice");
  if (!record.is_confirmed()) run.stale[record.node_id()] = record.incarnation();
  return "";
}

std::string Ledger::TakeReturned(const v1::NodeReturned& record, RunLedger& run) {
  const auto it = run.roster.find(record.node_id());
  if (it == run.roster.end() || it->second != record.incarnation() || run.lost.erase(record.node_id()) == 0) {
    return absl::StrCat("node ", record.node_id(), " returned but was not lost");
  }
  run.stale.erase(record.node_id());
  return "";
}

std::string Ledger::TakeGone(const v1::IncarnationGone& record, RunLedger& run) {
  const auto it = run.stale.find(record.node_id());
  if (it == run.stale.end() || it->second != record.incarnation()) return "somebody was confirmed dead twice";
  run.stale.erase(it);
  return "";
}

std::string Ledger::TakeAborted(const v1::RoundAborted& record, RunLedger& run) {
  if (record.round() != run.round || run.round == 0) return "a round was given up that isn't the present one";
  if (std::exchange(run.is_aborted, true)) return "a round was given up twice";
  run.is_store_closed = !IsWanted(record.first());
  return "";
}

std::string Ledger::TakeStoreChanged(const v1::StoreChanged& record, RunLedger& run) {
  const auto it = run.roster.find(record.node_id());
  if (it == run.roster.end() || it->second != record.incarnation() || run.lost.contains(record.node_id())) {
    return absl::StrCat("the store took a change of an incarnation of node ", record.node_id(), " that is not there");
  }
  if (run.is_store_closed) return "the store took a change in a round that is over";
  return run.store.Take(record, run.round);
}

std::string Ledger::TakeReported(const v1::NodeReported& record, RunLedger& run) {
  const auto it = run.roster.find(record.node_id());
  if (it == run.roster.end() || it->second != record.incarnation()) {
    return absl::StrCat("events of an incarnation of node ", record.node_id(), " that is not there");
  }
  uint64_t& through = run.events_through[record.incarnation()];
  for (const v1::NodeEvent& event : record.events()) {
    if (event.number() != through + 1) {
      return absl::StrCat("event ", event.number(), " of node ", record.node_id(), " was taken after ", through);
    }
    through = event.number();
  }
  return "";
}

}  // namespace muster::sim
