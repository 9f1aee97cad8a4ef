// The interface that PyTorch's collectives on the CPU (gloo, TensorPipe) should use. A pure function; the table is in
// collective_interface.cc.
//
// Left alone they listen on the address that the host's own name leads to, which with Debian's 127.0.1.1, or on a host
// with several networks, is not the one that peers have. They can be given an interface (GLOO_SOCKET_IFNAME,
// TP_SOCKET_IFNAME), not an address, and then take the first address that getifaddrs gives under that name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/net/ip_address.h"
#include "worker_agent/machine/machine.h"

namespace muster::agent {

struct CollectiveInterface {
  std::string name;     // to be set; empty: nothing is
  std::string warning;  // for people, with the remedy; empty: all is well
};

// `interfaces`: in the order of getifaddrs. `own_name`: the addresses of the host's own name, in the resolver's order;
// nullopt: not known, since the name service doesn't answer, say. `node`: this node's address, as its peers have it.
CollectiveInterface ChooseCollectiveInterface(const std::vector<InterfaceAddress>& interfaces,
                                              const std::optional<std::vector<IpAddress>>& own_name,
                                              const IpAddress& node);

}  // namespace muster::agent
