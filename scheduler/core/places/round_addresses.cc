// The address that the peers of a node with a loopback address get:
//
//   the node and the round                                       the address for its peers
//   the round is on one machine                                  the loopback address
//   all machines of the round are on one host, and differ only   the loopback address: all nodes came over loopback, so
//   by --machine                                                   they are on the scheduler's host
//   the user gave the loopback address (--worker_ip), and the    none: the node can't take part
//   round has other machines
//   the node came over loopback, so it is on the scheduler's     the first of these that is known:
//   own machine                                                    the address at which most nodes of other machines
//                                                                  reached the scheduler,
//                                                                  the scheduler's own listening address,
//                                                                  the address of the node's default route
//   nodes of several hosts came over loopback (tunnels,          only the address of the node's own default route
//   forwarded ports)
//   no such address is known                                     none: the node can't take part
//
// If a node's address is no loopback address, its peers get it unchanged.
#include "scheduler/core/places/round_addresses.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/net/ip_address.h"

namespace muster::scheduler {
namespace {

bool IsLoopback(const std::string& address) {
  const auto parsed = IpAddress::Parse(address);
  return parsed && parsed->is_loopback();
}

// True if other machines may be able to reach this address.
bool LeadsFar(const std::string& address) {
  const auto parsed = IpAddress::Parse(address);
  return parsed && !parsed->is_loopback() && !parsed->is_any();
}

// True if the machine's name comes from --machine NAME: several such machines may be on one host. See MachineId in
// worker_agent/machine/machine.h.
bool IsOnlyNamed(const std::string& machine) { return absl::StartsWith(machine, "name:"); }

struct Survey {
  std::set<std::string> machines;
  std::set<std::string> local_boots;  // machines without a --machine name, with nodes that have loopback addresses
  bool has_far_address = false;
};

Survey Look(const std::vector<const Node*>& members) {
  Survey survey;
  for (const Node* node : members) {
    const v1::NodeInfo& info = node->record().info;
    survey.machines.insert(info.machine_id());
    if (!IsLoopback(info.address())) {
      survey.has_far_address = true;
      continue;
    }
    if (!IsOnlyNamed(info.machine_id())) survey.local_boots.insert(info.machine_id());
  }
  return survey;
}

// Returns the address at which most nodes of other machines reached the scheduler; among equals, the lowest address.
std::optional<std::string> ReachedAt(const std::vector<const Node*>& members, const std::string& machine) {
  std::map<IpAddress, int> counts;
  for (const Node* node : members) {
    if (node->record().info.machine_id() == machine || !LeadsFar(node->reached_at)) continue;
    ++counts[*IpAddress::Parse(node->reached_at)];
  }
  const IpAddress* best = nullptr;
  for (const auto& [address, count] : counts) {
    if (best == nullptr || count > counts.at(*best)) best = &address;
  }
  return best == nullptr ? std::nullopt : std::optional(best->ToString());
}

std::string Remedy(const Node& node) {
  return absl::StrCat("start ms-worker on ", node.record().info.host_name(),
                      " with --worker_ip ADDRESS, an address of that node that the other machines can reach");
}

std::string SayGiven(const Node& node) {
  const v1::NodeInfo& info = node.record().info;
  return absl::StrCat(
      "its address ", info.address(),
      " (--worker_ip) reaches only its own machine, and the job is on several machines: ", Remedy(node));
}

std::string SayNone(const Node& node) {
  const v1::NodeInfo& info = node.record().info;
  return absl::StrCat("its address ", info.address(),
                      " reaches only its own machine, the job is on several machines, and no other address of it is "
                      "known: ",
                      Remedy(node));
}

}  // namespace

const std::string& AddressOf(const Node& node, const OtherAddresses& others) {
  const auto found = others.find(node.record().id);
  return found == others.end() ? node.record().info.address() : found->second;
}

RoundAddresses ChooseAddresses(const std::vector<const Node*>& members, const std::string& own_address) {
  RoundAddresses result;
  const auto is_loopback = [](const Node* node) { return IsLoopback(node->record().info.address()); };
  if (std::none_of(members.begin(), members.end(), is_loopback)) return result;
  const Survey survey = Look(members);
  const bool is_one_host = !survey.has_far_address && survey.local_boots.size() <= 1;
  if (survey.machines.size() <= 1 || is_one_host) return result;
  const bool are_here = survey.local_boots.size() <= 1;  // nodes with loopback addresses are on the scheduler's machine
  std::map<std::string, std::optional<std::string>> reached_at;  // by machine
  for (const Node* node : members) {
    const v1::NodeInfo& info = node->record().info;
    if (!is_loopback(node)) continue;
    if (info.is_address_given()) {
      result.unreachable.push_back({node, SayGiven(*node)});
      continue;
    }
    const auto [reached, is_new] = reached_at.try_emplace(info.machine_id());
    if (is_new && are_here) reached->second = ReachedAt(members, info.machine_id());
    if (reached->second) {
      result.others[node->record().id] = *reached->second;
    } else if (are_here && LeadsFar(own_address)) {
      result.others[node->record().id] = own_address;
    } else if (LeadsFar(info.other_address())) {
      result.others[node->record().id] = info.other_address();
    } else {
      result.unreachable.push_back({node, SayNone(*node)});
    }
  }
  return result;
}

}  // namespace muster::scheduler
