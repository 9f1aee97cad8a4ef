#include "worker_agent/launch/cluster_file.h"

#include <map>
#include <nlohmann/json.hpp>

#include "common/check.h"
#include "common/file_io.h"
#include "common/ip_address.h"

namespace muster::agent {
namespace {

using Json = nlohmann::ordered_json;

const char* RoleName(v1::Role role) { return role == v1::ROLE_SERVER ? "server" : "worker"; }

uint32_t WorldSize(const v1::Assignment& assignment) {
  return assignment.role() == v1::ROLE_SERVER ? assignment.server_num() : assignment.worker_num();
}

std::string DeviceId(const std::string& offered, uint32_t local_rank) {
  return offered.empty() ? std::to_string(local_rank) : offered;
}

v1::SlotOffer OfferOf(const ClusterFileInput& input, int slot) {
  const auto index = static_cast<size_t>(slot);
  return index < input.offers.size() ? input.offers[index] : v1::SlotOffer();
}

Json Neighbour(const v1::RingNeighbour& neighbour) {
  return {{"rank", neighbour.rank()},      {"node_id", neighbour.node_id()},
          {"host", neighbour.host_name()}, {"address", neighbour.address()},
          {"port", neighbour.port()},      {"fingerprint", neighbour.certificate_fingerprint()}};
}

Json LocalRanks(const ClusterFileInput& input) {
  Json ranks = Json::array();
  const v1::Assignment& assignment = input.desired->assignment();
  for (int i = 0; i < assignment.slots_size(); ++i) {
    const v1::SlotAssignment& slot = assignment.slots(i);
    Json ring = Json::object();
    ring["previous"] = slot.has_previous() ? Neighbour(slot.previous()) : Json();
    ring["next"] = slot.has_next() ? Neighbour(slot.next()) : Json();
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
    const std::optional<IpAddress> address = IpAddress::FromBytes(node.address());
    for (const v1::PeerSlot& slot : node.slots()) {
      list.push_back({{"rank", slot.rank()},
                      {"role", RoleName(node.role())},
                      {"node_id", node.node_id()},
                      {"node_rank", node.machine()},
                      {"host", node.host_name()},
                      {"address", address ? address->ToString() : ""},
                      {"local_rank", slot.local_rank()},
                      {"ring_port", slot.ring_port()},
                      {"device_id", DeviceId(slot.device_id(), slot.local_rank())},
                      {"device_address", slot.device_address()},
                      {"certificate_fingerprint", node.certificate_fingerprint()}});
    }
  }
  return list;
}

// Own ranks and their neighbours, by rank; what is known of a rank from both counts as own.
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
                            {"certificate_fingerprint", assignment.certificate_fingerprint()}};
  }
  const auto add = [&](const v1::RingNeighbour& neighbour) {
    by_rank.try_emplace(neighbour.rank(), Json{{"rank", neighbour.rank()},
                                               {"role", role},
                                               {"node_id", neighbour.node_id()},
                                               {"host", neighbour.host_name()},
                                               {"address", neighbour.address()},
                                               {"ring_port", neighbour.port()},
                                               {"certificate_fingerprint", neighbour.certificate_fingerprint()}});
  };
  for (const v1::SlotAssignment& slot : assignment.slots()) {
    if (slot.has_previous()) add(slot.previous());
    if (slot.has_next()) add(slot.next());
  }
  Json list = Json::array();
  for (auto& [rank, peer] : by_rank) list.push_back(std::move(peer));
  return list;
}

}  // namespace

std::string ClusterFileText(const ClusterFileInput& input) {
  MUSTER_CHECK(input.desired != nullptr && input.desired->has_assignment(), "the cluster file tells an assignment");
  const v1::DesiredState& desired = *input.desired;
  const v1::Assignment& assignment = desired.assignment();
  Json file;
  file["schema"] = "muster.cluster/1";
  file["job_id"] = input.job_id;
  file["run"] = desired.run();
  file["round"] = desired.round();
  file["restart_count"] = desired.restart_count();
  file["role"] = RoleName(assignment.role());
  file["world_size"] = WorldSize(assignment);
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
