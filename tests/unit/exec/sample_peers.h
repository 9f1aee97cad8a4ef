// Two machines, the second one with two agents.
#pragma once

#include <string>

#include "common/net/ip_address.h"
#include "muster/v1/types.pb.h"

namespace muster::exec {

inline v1::PeerList SamplePeers() {
  v1::PeerList peers;
  peers.set_job_id("job");
  peers.set_run(7);
  peers.set_round(2);
  const auto add = [&](const std::string& id, const std::string& host, const std::string& address, uint32_t machine) {
    v1::PeerNode* const node = peers.add_nodes();
    node->set_node_id(id);
    node->set_host_name(host);
    node->set_address(IpAddress::Parse(address)->bytes());
    node->set_machine(machine);
    node->add_ring_ports(1);
    node->add_ring_ports(2);
    node->set_exec_port(4000 + peers.nodes_size());
    node->set_exec_key("key of " + id);
  };
  add("a", "host1.site", "10.0.0.1", 0);
  add("b", "host2.site", "10.0.0.2", 1);
  add("c", "host2.site", "10.0.0.2", 1);
  peers.mutable_nodes(1)->add_other_addresses(IpAddress::Parse("192.168.7.2")->bytes());
  return peers;
}

}  // namespace muster::exec
