#include "tests/sim/ledger.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace muster::sim {

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
      // Also after the end: who leaves then is of no account.
      return InRun(record.node_removed(), record.node_removed().why() == v1::NodeRemoved::LEFT,
                   [&](RunLedger& run) { return TakeRemoved(record.node_removed(), run); });
    case v1::Record::kRoundClosed:
      return InRun(record.round_closed(), false,
                   [&](RunLedger& run) { return TakeClosed(record.round_closed(), run); });
    case v1::Record::kNodeReported:
      // Also after the end: what the agents still had to tell.
      return InRun(record.node_reported(), true,
                   [&](RunLedger& run) { return TakeReported(record.node_reported(), run); });
    case v1::Record::kRunFailing:
      return InRun(record.run_failing(), false, [](RunLedger& run) {
        run.is_over = true;
        return std::string();
      });
    case v1::Record::kRunEnded:
      return InRun(record.run_ended(), false, [&](RunLedger& run) {
        run.is_over = run.has_ended = true;
        run.outcome = record.run_ended().outcome();
        return std::string();
      });
    case v1::Record::kRunForgotten:
      runs_.erase({record.run_forgotten().job_id(), record.run_forgotten().run()});
      return "";
    case v1::Record::kSnapshot:
      return "";  // says nothing new
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
  run.round = record.round();
  run.digest = record.digest();
  run.ranks.clear();
  std::set<std::pair<v1::Role, uint32_t>> given;
  for (const v1::PeerNode& node : peers.nodes()) {
    if (!run.roster.contains(node.node_id()))
      return absl::StrCat("node ", node.node_id(), " got ranks but is not there");
    auto& [role, ranks] = run.ranks[node.node_id()];
    role = node.role();
    for (const v1::PeerSlot& slot : node.slots()) {
      if (!given.insert({role, slot.rank()}).second) return absl::StrCat("rank ", slot.rank(), " was given twice");
      ranks.push_back(slot.rank());
    }
  }
  if (given.size() != peers.worker_num() + peers.server_num()) return "not all ranks were given";
  return "";
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
