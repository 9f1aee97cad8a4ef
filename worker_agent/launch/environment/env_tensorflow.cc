// TF_CONFIG for TensorFlow's own strategies (MultiWorkerMirroredStrategy, ParameterServerStrategy); only with
// --tf_config. Its value, for example:
//
//   {"cluster": {"worker": ["10.0.0.1:41000", "10.0.0.2:41001"]}, "task": {"type": "worker", "index": 1}}
//
// With parameter servers, the worker of rank 0 is the "chief", which these strategies ask for. The other workers are
// tasks of the type "worker", the servers of the type "ps". A task's port is the one that its slot has reserved, on
// which gRPC's servers can listen. With --per_node there is one task for each node: that of its first slot.
#include <map>
#include <nlohmann/json.hpp>

#include "common/net/ip_address.h"
#include "common/net/peer_node.h"
#include "worker_agent/launch/environment/environment_builder.h"
#include "worker_agent/launch/peers.h"

namespace muster::agent {
namespace {

// Returns the "host:port" of each rank of the role.
std::map<uint32_t, std::string> TasksOf(const v1::PeerList& peers, v1::Role role, bool is_one_for_node) {
  std::map<uint32_t, std::string> tasks;
  for (const v1::PeerNode& node : peers.nodes()) {
    if (node.role() != role) continue;
    const int slots = is_one_for_node ? std::min(SlotCount(node), 1) : SlotCount(node);
    for (int i = 0; i < slots; ++i) {
      tasks[RankOf(node, i)] = JoinHostPort(AddressText(node.address()), static_cast<uint16_t>(node.ring_ports(i)));
    }
  }
  return tasks;
}

}  // namespace

void AddTensorFlowVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (!input.has_tf_config || input.peers == nullptr) return;
  const v1::Assignment& assignment = input.desired->assignment();
  const auto workers = TasksOf(*input.peers, v1::ROLE_WORKER, input.is_one_for_node);
  const auto servers = TasksOf(*input.peers, v1::ROLE_SERVER, input.is_one_for_node);
  nlohmann::ordered_json cluster = nlohmann::ordered_json::object();
  nlohmann::ordered_json task = nlohmann::ordered_json::object();
  const auto add = [&](const char* type, v1::Role role, uint32_t rank, const std::string& address) {
    if (role == assignment.role() && rank == SlotOf(input).rank())
      task = {{"type", type}, {"index", cluster[type].size()}};
    cluster[type].push_back(address);
  };
  for (const auto& [rank, address] : workers) {
    add(rank == 0 && !servers.empty() ? "chief" : "worker", v1::ROLE_WORKER, rank, address);
  }
  for (const auto& [rank, address] : servers) add("ps", v1::ROLE_SERVER, rank, address);
  const nlohmann::ordered_json config = {{"cluster", std::move(cluster)}, {"task", std::move(task)}};
  builder.Identity("TF_CONFIG", config.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace muster::agent
