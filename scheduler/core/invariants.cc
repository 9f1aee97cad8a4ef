// The conditions that hold after every step, for any input. Tests and the simulation check them.
#include "scheduler/core/invariants.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/net/peer_node.h"
#include "scheduler/core/facts/cause.h"

namespace muster::scheduler {
namespace {

// Returns `message` from the function unless `condition` holds.
#define MUSTER_REQUIRE(condition, message) \
  do {                                     \
    if (!(condition)) return message;      \
  } while (false)

// Ranks of each role are a permutation of 0..N-1, held by exactly the nodes of the peer list.
std::string BrokenRanks(const Run& run) {
  std::set<uint32_t> ranks[2];
  MUSTER_REQUIRE(run.record().peers.machine_num() <= static_cast<uint32_t>(run.record().peers.nodes_size()),
                 "more machines than nodes");
  for (const v1::PeerNode& peer : run.record().peers.nodes()) {
    MUSTER_REQUIRE(peer.machine() < run.record().peers.machine_num(), "a node's machine is out of range");
    auto& seen = ranks[peer.role() == v1::ROLE_SERVER ? 1 : 0];
    for (int i = 0; i < SlotCount(peer); ++i) {
      MUSTER_REQUIRE(seen.insert(RankOf(peer, i)).second, "a rank was given twice");
    }
    const Node* node = run.nodes.Find(peer.node_id());
    if (node == nullptr) continue;
    MUSTER_REQUIRE(!node->record().is_spare, "a spare holds ranks");
    MUSTER_REQUIRE(static_cast<int>(node->record().slots.size()) == SlotCount(peer),
                   "a node's slots differ from the peer list");
    for (int i = 0; i < SlotCount(peer); ++i) {
      MUSTER_REQUIRE(node->record().slots[i].rank == RankOf(peer, i), "a node's rank differs from the peer list");
    }
  }
  for (int role = 0; role < 2; ++role) {
    const uint32_t size = role == 0 ? run.record().peers.worker_num() : run.record().peers.server_num();
    MUSTER_REQUIRE(ranks[role].size() == size, "ranks are missing");
    MUSTER_REQUIRE(size == 0 || *ranks[role].rbegin() == size - 1, "ranks have gaps");
  }
  return "";
}

std::string BrokenStore(const Run& run) {
  size_t bytes = 0;
  for (const auto& [key, value] : run.record().store.values()) {
    MUSTER_REQUIRE(key == value->key(), "a value is stored under another key");
    bytes += BytesOf(*value);
  }
  MUSTER_REQUIRE(bytes == run.record().store.bytes(), "the store's bytes are counted wrong");
  MUSTER_REQUIRE(bytes <= kMaxStoreBytes && run.record().store.size() <= kMaxStoreKeys,
                 "the store is beyond its limits");
  MUSTER_REQUIRE(!run.HasEnded() || run.record().store.size() == 0, "an ended run keeps values");
  MUSTER_REQUIRE(run.store_waits.size() <= kMaxStoreWaits, "too many calls wait for keys");
  MUSTER_REQUIRE(run.store_waits.size() == 0 || run.record().phase == v1::RUN_PHASE_RUNNING || IsInPlannedStop(run),
                 "a call waits for a key in a round that is over");
  for (const std::string& key : run.store_waits.Keys()) {
    MUSTER_REQUIRE(run.record().store.Find(key) == nullptr, "a call waits for a key that exists");
  }
  return "";
}

std::string BrokenRun(const Run& run) {
  MUSTER_REQUIRE(run.record().number > 0, "a run without a number");
  if (run.record().round > 0) {
    MUSTER_REQUIRE(run.record().peer_list != nullptr, "a round without peers");
    if (std::string problem = BrokenRanks(run); !problem.empty()) return problem;
    MUSTER_REQUIRE(run.record().digest == Sha256(*run.record().peer_list), "the digest is not the peer list's");
  }
  const bool is_closed =
      run.IsUnderWay() || run.record().phase == v1::RUN_PHASE_STOPPING || run.record().phase == v1::RUN_PHASE_SUCCEEDED;
  MUSTER_REQUIRE(!is_closed || run.record().round > 0, "a run without a round is under way");
  if (run.record().phase == v1::RUN_PHASE_FORMING) {
    for (const v1::Role role : {v1::ROLE_WORKER, v1::ROLE_SERVER}) {
      MUSTER_REQUIRE(run.record().slot_counts.RegularSlots(role) <= run.Needed(role), "more regular slots than needed");
    }
  }
  std::set<uint64_t> incarnations;
  uint32_t spares = 0;
  SlotCounts slot_counts;
  LostNodes lost;
  for (const auto& [id, node] : run.nodes) {
    MUSTER_REQUIRE(id == node.record().id && node.record().incarnation != 0, "a node without identity");
    MUSTER_REQUIRE(node.record().info.role() == v1::ROLE_WORKER || node.record().info.role() == v1::ROLE_SERVER,
                   "a node without a role");
    MUSTER_REQUIRE(static_cast<int>(node.record().slots.size()) == node.record().info.slots_size(),
                   "a node's slots differ from those that it offers");
    MUSTER_REQUIRE(incarnations.insert(node.record().incarnation).second, "two nodes have one incarnation");
    const auto indexed = run.record().by_incarnation.find(node.record().incarnation);
    MUSTER_REQUIRE(indexed != run.record().by_incarnation.end() && indexed->second == &node,
                   "the index of incarnations is wrong");
    spares += node.record().is_spare ? 1 : 0;
    slot_counts.Add(id, node.record().info, node.record().is_spare);
    lost.Add(node);
    MUSTER_REQUIRE(!node.record().is_lost || run.HasEnded() || (!node.record().is_spare && node.stream == 0),
                   "a spare or a connected node is lost");
    MUSTER_REQUIRE(node.record().stale_incarnation == 0 ||
                       (node.record().is_lost && node.record().stale_incarnation == node.record().incarnation),
                   "a stale incarnation that is not the node's own");
    MUSTER_REQUIRE(!run.record().gone.contains(id), "a node is both present and gone");
  }
  MUSTER_REQUIRE(slot_counts == run.record().slot_counts, "the slot counts are wrong");
  MUSTER_REQUIRE(lost == run.record().lost, "the index of lost nodes is wrong");
  MUSTER_REQUIRE(spares == run.record().spare_count, "spares are counted wrong");
  MUSTER_REQUIRE(run.record().by_incarnation.size() == run.nodes.size(),
                 "the index of incarnations holds nodes that are gone");
  for (const auto& [id, node] : run.nodes) {
    MUSTER_REQUIRE(!run.IsOver() || node.challenger == nullptr, "a challenger waits for an id in a run that is over");
  }
  if (std::string problem = BrokenStore(run); !problem.empty()) return problem;
  if (run.record().phase == v1::RUN_PHASE_SUCCEEDED) {
    for (const auto& [id, node] : run.nodes) {
      for (const SlotState& slot : node.record().slots) {
        MUSTER_REQUIRE(node.record().is_spare || slot.phase == SlotState::Phase::kDone,
                       "a run succeeded before all its processes were done");
      }
    }
  }
  MUSTER_REQUIRE(run.record().phase != v1::RUN_PHASE_FAILED || !run.record().outcome.cause().text().empty(),
                 "a failure without a cause");
  return "";
}

void CheckQuotas(const Context& context, const Places& places) {
  Quota jobs(kMaxJobs), nodes(context.options.max_nodes);
  for (const auto& [job_id, job] : context.state.jobs) {
    for (const auto& [number, run] : job.runs) {
      if (!run.HasEnded() && !run.nodes.empty()) jobs.Take(run.principal);
      for (const auto& [id, node] : run.nodes) {
        if (!run.HasEnded() || node.stream != 0) nodes.Take(node.principal);
      }
    }
  }
  MUSTER_CHECK(jobs == places.jobs(), "the places of jobs are counted wrong");
  MUSTER_CHECK(nodes == places.nodes(), "the places of nodes are counted wrong");
}

// Checks that no stream or deadline points to a run or node that does not exist any more.
void CheckPointers(const Context& context) {
  std::map<const void*, uint64_t> handles;  // the handles of all runs and nodes
  for (const auto& [job_id, job] : context.state.jobs) {
    for (const auto& [number, run] : job.runs) {
      handles[&run] = run.handle;
      for (const auto& [id, node] : run.nodes) handles[&node] = node.handle;
    }
  }
  for (const auto& [stream, attached] : context.streams) {
    MUSTER_CHECK(handles.contains(attached.run), "a stream of a run that does not exist");
    MUSTER_CHECK(handles.contains(attached.node), "a stream of a node that does not exist");
    if (attached.is_challenger) {
      MUSTER_CHECK(attached.node->challenger != nullptr && attached.node->challenger->join.stream == stream,
                   "a lost challenger");
    } else {
      MUSTER_CHECK(attached.node->stream == stream, "two streams for one node");
    }
  }
  for (const auto& [handle, owner] : context.owners) {
    const void* thing = owner.node != nullptr ? static_cast<const void*>(owner.node) : owner.run;
    MUSTER_CHECK(handles.contains(owner.run) && handles.contains(thing),
                 "a deadline of a node or run that does not exist");
    MUSTER_CHECK(handles.at(thing) == handle, "two deadlines for one node or run");
  }
}

}  // namespace

void CheckInvariants(const Context& context, const Places& places) {
  uint64_t connected = 0;
  size_t store_bytes = 0;
  for (const auto& [job_id, job] : context.state.jobs) {
    size_t open = 0;
    for (const auto& [number, run] : job.runs) {
      store_bytes += run.record().store.bytes();
      MUSTER_CHECK(number <= job.last_run, "a run's number is above the last one");
      const std::string problem = BrokenRun(run);
      MUSTER_CHECK(problem.empty(), problem.c_str());
      open += run.IsOver() ? 0 : 1;
      uint32_t holding_up = 0;
      for (const auto& [id, node] : run.nodes) {
        const bool has_stopped = node.stream != 0 && node.record().quit_round >= run.record().round;
        holding_up += node.record().is_spare || node.record().is_lost || has_stopped ? 0 : 1;
        if (node.stream != 0) {
          ++connected;
          const auto attached = context.streams.find(node.stream);
          MUSTER_CHECK(
              attached != context.streams.end() && attached->second.node == &node && attached->second.run == &run,
              "a node's stream is not attached to it");
          MUSTER_CHECK(!node.lease_end.is_never(), "a connected node without a lease");
        } else if (!run.HasEnded() && !node.record().is_lost) {
          MUSTER_CHECK(!node.grace_end.is_never(), "a disconnected node without a deadline");
        }
      }
      MUSTER_CHECK(run.record().phase != v1::RUN_PHASE_RECOVERING || holding_up == run.holding_up,
                   "the nodes that the next round waits for are counted wrong");
    }
    MUSTER_CHECK(open <= 1, "two live runs of one job");
  }
  MUSTER_CHECK(store_bytes == context.state.record().store_bytes, "the bytes of all stores are counted wrong");
  MUSTER_CHECK(connected == context.connected_nodes, "connected nodes are counted wrong");
  CheckPointers(context);
  CheckQuotas(context, places);
}

absl::Status CheckRecovered(const State& state) {
  for (const auto& [job_id, job] : state.jobs) {
    size_t open = 0;
    for (const auto& [number, run] : job.runs) {
      open += run.IsOver() ? 0 : 1;
      std::string problem =
          number == run.record().number && number <= job.last_run ? BrokenRun(run) : "its number is wrong";
      if (open > 1) problem = "the job has another run that has not ended";
      if (problem.empty()) continue;
      return absl::DataLossError(absl::StrCat("its record of run ", number, " of job ", job_id, " is inconsistent (",
                                              problem,
                                              "): use the ms-scheduler that wrote it, or name another file with "
                                              "--journal_path"));
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::scheduler
