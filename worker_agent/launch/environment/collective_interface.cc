// The result for a node in a round of several machines; the first row that fits applies:
//
//   the node's address                                       the result
//   is loopback (machines that only --machine distinguishes) nothing
//   is that of the host's own name                           nothing: gloo listens there by default
//   is the first address of its interface                    the interface's name, or its label, such as eth0:1
//   is a later address of its interface                      a warning, which names the first address
//   is on no interface (forwarded to this machine)           a warning
//
// "That of the host's own name" is the first address in the resolver's answer that is on an interface of this machine.
#include "worker_agent/launch/environment/collective_interface.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

using Interfaces = std::vector<InterfaceAddress>;

std::optional<IpAddress> FirstUnder(const Interfaces& interfaces, const std::string& name) {
  for (const InterfaceAddress& one : interfaces) {
    if (one.name == name) return one.address;
  }
  return std::nullopt;
}

std::optional<IpAddress> WhereNameLeads(const Interfaces& interfaces, const std::vector<IpAddress>& own_name) {
  for (const IpAddress& address : own_name) {
    const bool is_here = std::any_of(interfaces.begin(), interfaces.end(),
                                     [&](const InterfaceAddress& one) { return one.address == address; });
    if (is_here || address.is_loopback()) return address;
  }
  return std::nullopt;
}

// Returns the part of a warning that says what happens without the variables.
std::string WithoutHelp(const std::optional<IpAddress>& leads) {
  return absl::StrCat("Without GLOO_SOCKET_IFNAME, PyTorch's gloo ",
                      leads ? absl::StrCat("listens on ", leads->ToString(), ", the address of this host's own name")
                            : "listens at the address of this host's own name",
                      ", and other machines may not reach it there");
}

}  // namespace

CollectiveInterface ChooseCollectiveInterface(const Interfaces& interfaces,
                                              const std::optional<std::vector<IpAddress>>& own_name,
                                              const IpAddress& node) {
  const auto leads = own_name ? WhereNameLeads(interfaces, *own_name) : std::nullopt;
  if (node.is_loopback() || leads == node) return {};
  const InterfaceAddress* found = nullptr;
  for (const InterfaceAddress& one : interfaces) {
    if (one.address != node) continue;
    if (FirstUnder(interfaces, one.name) == node) return {one.name, ""};
    if (found == nullptr) found = &one;
  }
  const std::string without_help = WithoutHelp(leads);
  if (found == nullptr) {
    return {"", absl::StrCat("this node's address ", node.ToString(), " is on no interface of this machine. ",
                             without_help, ". Give --worker_ip an address of this machine, or set ",
                             "GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME to the interface that other machines reach")};
  }
  const std::string first = FirstUnder(interfaces, found->name)->ToString();
  return {"", absl::StrCat("this node's address ", node.ToString(), " is not the first one of interface ", found->name,
                           ", whose first address is ", first, ", so GLOO_SOCKET_IFNAME=", found->name,
                           " would select that address. ", without_help, ". Give --worker_ip ", first,
                           " if the other machines reach it, or set GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME to the "
                           "interface that they do reach")};
}

}  // namespace muster::agent
