#include "worker_agent/gateway/chassis/round_layout.h"

#include <algorithm>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/net/peer_node.h"

namespace muster::agent {

uint32_t RoundLayout::size() const {
  size_t size = 0;
  for (const Agent& agent : agents) size += agent.ranks.size();
  return static_cast<uint32_t>(size);
}

std::vector<uint32_t> RoundLayout::MachineOfRank() const {
  std::vector<uint32_t> machine_of(size());
  for (const Agent& agent : agents) {
    for (const uint32_t rank : agent.ranks) machine_of[rank] = agent.machine;
  }
  return machine_of;
}

namespace {

constexpr size_t kIdBytes = 8;

std::string IdOf(const GatewayRound& round) {
  std::string text = absl::StrCat(round.peers->job_id(), "/", round.run, "/", round.round);
  for (const v1::PeerNode& node : round.peers->nodes()) {
    absl::StrAppend(&text, "/", node.node_id(), "/", absl::BytesToHexString(node.address()));
    for (const uint32_t port : node.ring_ports()) absl::StrAppend(&text, ",", port);
  }
  return absl::BytesToHexString(Sha256(text).substr(0, kIdBytes));
}

}  // namespace

absl::StatusOr<RoundLayout> LayoutOf(const GatewayRound& round) {
  if (round.peers == nullptr) return absl::InternalError("the round's peer list is not known");
  if (round.assignment.role() != v1::ROLE_WORKER) {
    return absl::FailedPreconditionError(
        "the gateways for MPI and JAX serve no parameter servers; start these with --mpi none --jax none");
  }
  RoundLayout layout;
  layout.run = round.run;
  layout.round = round.round;
  std::optional<uint32_t> own;
  std::vector<bool> seen;
  std::vector<std::string> host_of;
  for (const v1::PeerNode& node : round.peers->nodes()) {
    if (node.role() != v1::ROLE_WORKER || SlotCount(node) == 0) continue;
    if (node.node_id() == round.node_id) own = layout.agents.size();
    RoundLayout::Agent agent;
    agent.machine = node.machine();
    if (agent.machine >= static_cast<uint32_t>(round.peers->nodes_size()))
      return absl::InternalError("the peer list counts machines wrong");
    layout.machines = std::max(layout.machines, agent.machine + 1);
    host_of.resize(layout.machines);
    // Adds the machine's number: hosts of different machines may have the same name (containers), and Open MPI would
    // take them for one machine.
    if (host_of[agent.machine].empty()) host_of[agent.machine] = absl::StrCat(node.host_name(), "-", agent.machine);
    agent.host = host_of[agent.machine];
    for (int slot = 0; slot < SlotCount(node); ++slot) {
      agent.ranks.push_back(RankOf(node, slot));
      agent.local_ranks.push_back(LocalRankOf(node, slot));
    }
    layout.agents.push_back(std::move(agent));
  }
  if (!own) return absl::InternalError("this node is not in the round's peer list");
  layout.own = *own;
  layout.id = IdOf(round);
  seen.resize(layout.size());
  for (const RoundLayout::Agent& agent : layout.agents) {
    for (const uint32_t rank : agent.ranks) {
      if (rank >= seen.size() || seen[rank]) return absl::InternalError("the peer list does not count ranks from 0");
      seen[rank] = true;
    }
  }
  return layout;
}

TaskLayout TasksOf(const RoundLayout& layout) {
  TaskLayout tasks;
  for (const RoundLayout::Agent& agent : layout.agents) {
    tasks.agents.emplace_back(agent.ranks.begin(), agent.ranks.end());
    tasks.hosts.push_back(agent.host);
  }
  tasks.own = layout.own;
  return tasks;
}

}  // namespace muster::agent
