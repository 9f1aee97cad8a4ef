#include "worker_agent/launch/cluster_file.h"

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "common/base/check.h"
#include "common/net/peer_node.h"
#include "common/sys/file_io.h"
#include "worker_agent/launch/peers.h"

namespace muster::agent {
namespace {

using Json = nlohmann::ordered_json;

const char* RoleName(v1::Role role) { return role == v1::ROLE_SERVER ? "server" : "worker"; }

std::string DeviceId(const std::string& offered, uint32_t local_rank) {
  return offered.empty() ? std::to_string(local_rank) : offered;
}

v1::SlotOffer OfferOf(const ClusterFileInput& input, int slot) {
  const auto index = static_cast<size_t>(slot);
  return index < input.offers.size() ? input.offers[index] : v1::SlotOffer();
}

Json Neighbour(const std::optional<RingPeer>& peer) {
  if (!peer) return {};
  return {{"rank", peer->rank},       {"node_id", peer->node_id}, {"host", peer->host},
          {"address", peer->address}, {"port", peer->port},       {"fingerprint", peer->fingerprint}};
}

Json LocalRanks(const ClusterFileInput& input) {
  Json ranks = Json::array();
  const v1::Assignment& assignment = input.desired->assignment();
  for (int i = 0; i < assignment.slots_size(); ++i) {
    const v1::SlotAssignment& slot = assignment.slots(i);
    Json ring = Json::object();
    ring["previous"] = Neighbour(PreviousInRing(input, i));
    ring["next"] = Neighbour(NextInRing(input, i));
    ranks.push_back({{"rank", slot.rank()},
                     {"local_rank", slot.local_rank()},
                     {"device_id", DeviceId(OfferOf(input, i).device_id(), slot.local_rank())},
                     {"ring", std::move(ring)}});
  }
  return ranks;
}

Json AllPeers(const v1::PeerList& peers) {
  Json list = Json::array();
  for (const v1::PeerNode& node : peers.nodes()) {
    const std::string address = AddressText(node.address());
    const std::string fingerprint = absl::BytesToHexString(node.certificate_fingerprint());
    for (int slot = 0; slot < SlotCount(node); ++slot) {
      const uint32_t local_rank = LocalRankOf(node, slot);
      list.push_back({{"rank", RankOf(node, slot)},
                      {"role", RoleName(node.role())},
                      {"node_id", node.node_id()},
                      {"node_rank", node.machine()},
                      {"host", node.host_name()},
                      {"address", address},
                      {"local_rank", local_rank},
                      {"ring_port", node.ring_ports(slot)},
                      {"device_id", DeviceId(DeviceIdOf(node, slot), local_rank)},
                      {"device_address", DeviceAddressOf(node, slot)},
                      {"certificate_fingerprint", fingerprint}});
    }
  }
  return list;
}

// Returns the node's own ranks and their neighbours, in the order of ranks, each once.
Json NearPeers(const ClusterFileInput& input) {
  const v1::Assignment& assignment = input.desired->assignment();
  const char* role = RoleName(assignment.role());
  std::map<uint32_t, Json> by_rank;
  for (int i = 0; i < assignment.slots_size(); ++i) {
    const v1::SlotAssignment& slot = assignment.slots(i);
    const v1::SlotOffer offer = OfferOf(input, i);
    by_rank[slot.rank()] = {{"rank", slot.rank()},
                            {"role", role},
                            {"node_id", input.node_id},
                            {"node_rank", assignment.node_rank()},
                            {"host", input.host_name},
                            {"address", input.own_address},
                            {"local_rank", slot.local_rank()},
                            {"ring_port", offer.ring_port()},
                            {"device_id", DeviceId(offer.device_id(), slot.local_rank())},
                            {"device_address", offer.device_address()},
                            {"certificate_fingerprint", absl::BytesToHexString(assignment.certificate_fingerprint())}};
  }
  const auto add = [&](const std::optional<RingPeer>& peer) {
    if (!peer) return;
    by_rank.try_emplace(peer->rank, Json{{"rank", peer->rank},
                                         {"role", role},
                                         {"node_id", peer->node_id},
                                         {"host", peer->host},
                                         {"address", peer->address},
                                         {"ring_port", peer->port},
                                         {"certificate_fingerprint", peer->fingerprint}});
  };
  for (int i = 0; i < assignment.slots_size(); ++i) {
    add(PreviousInRing(input, i));
    add(NextInRing(input, i));
  }
  Json list = Json::array();
  for (auto& [rank, peer] : by_rank) list.push_back(std::move(peer));
  return list;
}

}  // namespace

std::string ClusterFileText(const ClusterFileInput& input) {
  MUSTER_CHECK(input.desired != nullptr && input.desired->has_assignment(), "the cluster file needs an assignment");
  const v1::DesiredState& desired = *input.desired;
  const v1::Assignment& assignment = desired.assignment();
  Json file;
  file["schema"] = "muster.cluster/1";
  file["job_id"] = input.job_id;
  file["run"] = desired.run();
  file["round"] = desired.round();
  file["restart_count"] = desired.restart_count();
  file["role"] = RoleName(assignment.role());
  file["world_size"] = RingSize(assignment);
  file["server_num"] = assignment.server_num();
  file["nnodes"] = assignment.machine_num();
  file["node_id"] = input.node_id;
  file["node_rank"] = assignment.node_rank();
  file["local_ranks"] = LocalRanks(input);
  file["master"] = {{"address", assignment.master_address()}, {"port", assignment.master_port()}};
  file["peers"] = input.peers != nullptr ? AllPeers(*input.peers) : NearPeers(input);
  file["peers_complete"] = input.peers != nullptr;
  return file.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status WriteClusterFile(const std::string& path, const ClusterFileInput& input) {
  return ReplaceFile(path, ClusterFileText(input), 0644);
}

}  // namespace muster::agent
