// This node's variable              rank 0's node                                    remark
//
// not set                           anything                                         none: it gets rank 0's value
// MASTER_PORT                       has the same value, or serves that port          none
//                                   has another value                                names both values
// an address of the loopback        is on this machine, or all are on one machine    none
//                                   is on another machine                            this address never reaches rank 0
// MASTER_ADDR                       has the same text, or that address               none
//                                   anything else                                    names both values
// CM_CHIEF_*, JAX_COORDINATOR_…     has the same value, or none                      none
//                                   has another value                                names both values
#include "common/hosts/endpoints.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/hosts/compare.h"
#include "common/net/ip_address.h"

namespace muster {
namespace {

constexpr char kLeaveOut[] = "; leave it out on every node, or give all nodes the same (";

// 0.0.0.0 counts as loopback, because a connection to it reaches this machine.
bool IsLoopback(const IpAddress& address) { return address.is_loopback() || address.is_any(); }

// True for a text with a loopback address or name: "10.0.0.1", "10.0.0.1:1234", "[::1]:1234", "localhost:1234".
bool IsLoopback(const std::string& text) {
  if (const auto address = IpAddress::Parse(text)) return IsLoopback(*address);
  const std::string host = text.substr(0, text.rfind(':'));
  const auto address = IpAddress::Parse(host);
  return address ? IsLoopback(*address) : host == "localhost";
}

bool AreEqual(const std::string& a, const std::string& b) {
  const auto x = IpAddress::Parse(a);
  const auto y = IpAddress::Parse(b);
  return a == b || (x && y && *x == *y);
}

bool IsAddressOf(const IpAddress& address, const FirstNode& first) {
  const auto fits = [&](const std::string& text) {
    const auto other = IpAddress::Parse(text);
    return other && *other == address;
  };
  return fits(first.master_address) || fits(first.info->address()) || fits(first.info->other_address()) ||
         std::any_of(first.info->addresses().begin(), first.info->addresses().end(), fits);
}

// True if this node and rank 0's node are on one machine, so that they share its loopback.
bool IsOneHost(const v1::NodeInfo& node, const FirstNode& first) {
  return node.machine_id() == first.info->machine_id() || IsLoopback(first.master_address);
}

std::string OnlyItself(const std::string& name, const std::string& value, const FirstNode& first,
                       const std::string& setting) {
  return absl::StrCat(name, " is ", value, " here, which means this machine only, but rank 0 is on ", first.name,
                      " at ", first.master_address, kLeaveOut, setting, ")");
}

std::string Differs(const std::string& name, const std::string& value, const std::string& other, const FirstNode& first,
                    const std::string& setting) {
  return absl::StrCat(name, " is ", value, " here, but ", other, " for rank 0's ", first.name,
                      ": the processes here would wait for a server that is not there", kLeaveOut, setting, ")");
}

std::string OfMasterAddress(const v1::NodeInfo& node, const FirstNode& first) {
  constexpr char kSetting[] = "--torch_master_addr";
  const std::string own = FactOf(node, kMasterAddress);
  if (own.empty()) return "";
  auto numeric = IpAddress::Parse(own);
  if (!numeric) numeric = IpAddress::Parse(node.wanted_master_address());
  if (numeric && IsLoopback(*numeric)) {
    return IsOneHost(node, first) ? "" : OnlyItself(kMasterAddress, own, first, kSetting);
  }
  if (own == FactOf(*first.info, kMasterAddress) || (numeric && IsAddressOf(*numeric, first))) return "";
  return Differs(kMasterAddress, own, first.master_address, first, kSetting);
}

std::string OfMasterPort(const v1::NodeInfo& node, const FirstNode& first) {
  const std::string own = FactOf(node, kMasterPort);
  const std::string wanted = FactOf(*first.info, kMasterPort);
  const std::string served = wanted.empty() ? absl::StrCat(first.master_port) : wanted;
  return own.empty() || own == served ? "" : Differs(kMasterPort, own, served, first, "--torch_master_port");
}

std::string OfOther(const std::string& name, const v1::NodeInfo& node, const FirstNode& first) {
  const std::string own = FactOf(node, name);
  if (own.empty()) return "";
  const bool is_port = name == kChiefPort;
  if (!is_port && IsLoopback(own)) return IsOneHost(node, first) ? "" : OnlyItself(name, own, first, "--env");
  const std::string other = FactOf(*first.info, name);
  return other.empty() || AreEqual(own, other) ? "" : Differs(name, own, other, first, "--env");
}

}  // namespace

void AddEndpointFacts(const std::map<std::string, std::string>& endpoints, v1::NodeInfo& node) {
  for (const auto& [name, value] : endpoints) {
    if (value.empty() || value.size() > kMaxEndpointBytes || node.host_facts_size() >= kMaxHostFacts) continue;
    v1::HostFact& fact = *node.add_host_facts();
    fact.set_name(name);
    fact.set_value(EscapeControl(value));
  }
}

std::vector<std::string> EndpointRemarks(const v1::NodeInfo& node, const FirstNode& first) {
  std::vector<std::string> remarks = {OfMasterAddress(node, first), OfMasterPort(node, first)};
  for (const char* name : {kChiefAddress, kChiefPort, kJaxCoordinator}) remarks.push_back(OfOther(name, node, first));
  std::erase(remarks, "");
  for (std::string& remark : remarks) CutText(remark, kMaxHostText);
  return remarks;
}

}  // namespace muster
