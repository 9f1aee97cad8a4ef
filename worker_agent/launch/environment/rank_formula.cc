// Does node_rank × processes of the node + local_rank give the ranks of a job's workers?
//
//   all machines have as many processes, with consecutive ranks      yes
//   machines with 2 and 4 processes                                  no, from the second machine on
//   a machine's ranks are not consecutive (by a rank table, or by
//     the ids of several agents on a machine)                        no
//   several agents on a machine, --per_node                          no: all of them have the same node_rank
//   parameter servers                                                not checked: no script numbers them so
//
// A node warns if the formula is wrong for its own ranks. Rank 0's node also warns if it is wrong anywhere, since
// people read rank 0's output.
#include "worker_agent/launch/environment/rank_formula.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "common/net/peer_node.h"

namespace muster::agent {
namespace {

struct Mismatch {
  bool is_there = false;
  uint32_t rank = 0;
  uint32_t node_rank = 0;
  uint32_t processes = 0;  // of the node, as the formula counts
  uint32_t local_rank = 0;
};

// Returns true, and fills in `out`, if the formula does not give `rank`.
bool Differs(uint32_t rank, uint32_t node_rank, uint32_t processes, uint32_t local_rank, Mismatch& out) {
  if (rank == uint64_t{node_rank} * processes + local_rank) return false;
  out = {true, rank, node_rank, processes, local_rank};
  return true;
}

Mismatch OwnMismatch(const v1::Assignment& assignment) {
  Mismatch out;
  for (const v1::SlotAssignment& slot : assignment.slots()) {
    if (Differs(slot.rank(), assignment.node_rank(), assignment.local_world_size(), slot.local_rank(), out)) break;
  }
  return out;
}

Mismatch AnyMismatch(const v1::PeerList& peers) {
  std::map<uint32_t, uint32_t> processes;  // by machine
  for (const v1::PeerNode& node : peers.nodes()) {
    if (node.role() == v1::ROLE_WORKER) processes[node.machine()] += static_cast<uint32_t>(SlotCount(node));
  }
  Mismatch out;
  for (const v1::PeerNode& node : peers.nodes()) {
    if (node.role() != v1::ROLE_WORKER) continue;
    for (int i = 0; i < SlotCount(node); ++i) {
      if (Differs(RankOf(node, i), node.machine(), processes[node.machine()], LocalRankOf(node, i), out)) return out;
    }
  }
  return out;
}

}  // namespace

std::string RankFormulaWarning(const v1::Assignment& assignment, const v1::PeerList* peers, bool is_one_for_node) {
  if (assignment.role() == v1::ROLE_SERVER || assignment.slots().empty()) return "";
  const auto slots = static_cast<uint32_t>(assignment.slots_size());
  if (is_one_for_node && slots < assignment.local_world_size()) {
    return absl::StrCat("--per_node: several agents of this job run on this machine, and NODE_RANK is ",
                        assignment.node_rank(),
                        " for each of their commands; start one agent on each machine, or give each one here a "
                        "--machine NAME of its own");
  }
  Mismatch wrong = OwnMismatch(assignment);
  if (!wrong.is_there && assignment.slots(0).rank() == 0 && peers != nullptr) wrong = AnyMismatch(*peers);
  if (!wrong.is_there) return "";
  return absl::StrCat(
      "node_rank × processes of the node + local_rank is not the rank in this job: rank ", wrong.rank,
      " would count itself as ", wrong.node_rank, " × ", wrong.processes, " + ", wrong.local_rank, " = ",
      uint64_t{wrong.node_rank} * wrong.processes + wrong.local_rank,
      ", since the nodes have unequal numbers of processes or a node's ranks are not consecutive. A command that "
      "uses this formula hangs or fails: ",
      is_one_for_node ? "start it without --per_node, and give it {rank} and {world_size}"
                      : "give it {rank} and {world_size} instead of {node_rank}",
      ", or give every node the same --local_worker_num");
}

}  // namespace muster::agent
