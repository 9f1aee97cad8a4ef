// Chooses the network interface for PyTorch's collectives on the CPU (gloo, TensorPipe). A pure function; the table is
// in collective_interface.cc.
//
// By default gloo and TensorPipe listen on the address that the host's own name resolves to. On Debian (127.0.1.1), or
// on a host with several networks, peers may not reach that address. A user can set the interface (GLOO_SOCKET_IFNAME,
// TP_SOCKET_IFNAME), but not the address: both take the first one that getifaddrs lists for the interface.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/net/ip_address.h"
#include "worker_agent/machine/machine.h"

namespace muster::agent {

struct CollectiveInterface {
  std::string name;     // the value for the two variables; empty: they are not set
  std::string warning;  // for people, with the remedy; empty: nothing is wrong
};

// `interfaces`: in the order of getifaddrs. `own_name`: the addresses of the host's own name, in the resolver's order;
// nullopt: not known, for example because the name service doesn't answer. `node`: the address of this node that its
// peers use.
CollectiveInterface ChooseCollectiveInterface(const std::vector<InterfaceAddress>& interfaces,
                                              const std::optional<std::vector<IpAddress>>& own_name,
                                              const IpAddress& node);

}  // namespace muster::agent
