#include "worker_agent/gateway/mindspore/host_names.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/net/peer_node.h"

namespace muster::agent {

std::vector<std::string> NamesOfRanks(const v1::PeerList& peers, v1::Role role, uint32_t own_machine,
                                      const std::string& own_name) {
  std::map<uint32_t, std::string> names = {{own_machine, own_name}};
  std::set<std::string> taken = {own_name};
  for (const v1::PeerNode& node : peers.nodes()) {
    if (names.contains(node.machine())) continue;
    std::string name = node.host_name();
    if (!taken.insert(name).second) {
      absl::StrAppend(&name, "~", node.machine());
      taken.insert(name);
    }
    names[node.machine()] = name;
  }
  std::vector<std::string> result(role == v1::ROLE_SERVER ? peers.server_num() : peers.worker_num());
  for (const v1::PeerNode& node : peers.nodes()) {
    if (node.role() != role) continue;
    for (int slot = 0; slot < SlotCount(node); ++slot) {
      if (const uint32_t rank = RankOf(node, slot); rank < result.size()) result[rank] = names[node.machine()];
    }
  }
  return result;
}

}  // namespace muster::agent
