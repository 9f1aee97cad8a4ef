// EndpointsOf returns a variable, except in these cases:
//
// MASTER_ADDR, MASTER_PORT     it is not set: the agent then sets it
// CM_CHIEF_IP, CM_CHIEF_PORT   --hccl_mode or --rank_table_file is given: the agent then decides about CM_*
// JAX_COORDINATOR_ADDRESS      the agent is JAX's coordination service, and sets it
//
// A variable of --env is always returned, since it replaces the agent's value. With --per_job none is: the command runs
// on one node only.
#include "worker_agent/preflight/endpoints.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/hosts/endpoints.h"
#include "common/net/address_rules.h"

namespace muster::agent {
namespace {

using Variables = std::map<std::string, std::string>;

std::string ValueOf(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

// Returns the value of --env, else the inherited one.
std::string Effective(const AgentSettings& settings, const Variables& environment, const std::string& name) {
  const std::string given = ValueOf(settings.env, name);
  return given.empty() ? ValueOf(environment, name) : given;
}

bool IsLinkLocal(const std::string& text) {
  const auto address = IpAddress::Parse(text);
  const auto host = IpAddress::Parse(text.substr(0, text.rfind(':')));
  return (address && IsLinkLocal(*address)) || (text.front() == '[' && host && IsLinkLocal(*host));
}

}  // namespace

Variables EndpointsOf(const AgentSettings& settings, const Variables& environment, bool serves_jax) {
  if (settings.command.empty() || settings.per_job) return {};
  Variables endpoints = {{kMasterAddress, settings.master_addr}, {kMasterPort, settings.master_port}};
  if (settings.hccl_mode.empty() && settings.rank_table_file.empty()) {
    for (const char* name : {kChiefAddress, kChiefPort}) endpoints[name] = ValueOf(environment, name);
  }
  if (!serves_jax) endpoints[kJaxCoordinator] = ValueOf(environment, kJaxCoordinator);
  for (const char* name : {kMasterAddress, kMasterPort, kChiefAddress, kChiefPort, kJaxCoordinator}) {
    if (const auto given = settings.env.find(name); given != settings.env.end()) endpoints[name] = given->second;
  }
  // A value with placeholders is left out: it is known only once the node has ranks.
  std::erase_if(endpoints, [](const auto& one) { return one.second.empty() || absl::StrContains(one.second, "{"); });
  return endpoints;
}

std::vector<std::string> CheckOwnAddresses(const AgentSettings& settings, const Variables& environment,
                                           const std::function<bool(const IpAddress&)>& is_local) {
  std::vector<std::string> warnings;
  for (const char* name : {"HCCL_IF_IP", "CM_WORKER_IP"}) {
    const std::string value = Effective(settings, environment, name);
    const auto address = IpAddress::Parse(value);
    const bool is_ours = std::string(name) == "CM_WORKER_IP" && !settings.hccl_mode.empty();
    if (!address || is_ours || is_local(*address)) continue;
    warnings.push_back(absl::StrCat(name, " is ", value,
                                    ", which is no address of this machine, although other nodes reach this node "
                                    "there; set it on each node to that node's own address, or leave it out"));
  }
  for (const char* name : {"HCCL_IF_IP", "CM_WORKER_IP", kMasterAddress, kChiefAddress, kJaxCoordinator}) {
    const std::string value = Effective(settings, environment, name);
    if (value.empty() || !IsLinkLocal(value)) continue;
    warnings.push_back(absl::StrCat(name, " is ", EscapeControl(value), ", and ", kNoLinkLocal));
  }
  return warnings;
}

namespace {

std::string FirstLabel(const std::string& name) { return name.substr(0, name.find('.')); }

bool IsOwnName(const std::string& host, const std::string& own_name) {
  return !IpAddress::Parse(host) && !absl::StartsWithIgnoreCase(host, "localhost") &&
         absl::EqualsIgnoreCase(FirstLabel(host), FirstLabel(own_name));
}

}  // namespace

std::string LoopbackRemark(const AgentSettings& settings, const std::vector<IpAddress>& addresses, uint32_t slots,
                           const std::string& own_name) {
  const uint32_t total = settings.worker_num.value_or(0) + settings.server_num.value_or(0);
  const bool are_others_awaited = total > slots || (settings.spare && total > 0);
  const bool is_loopback =
      !addresses.empty() && std::all_of(addresses.begin(), addresses.end(),
                                        [](const IpAddress& one) { return one.is_loopback() || one.is_any(); });
  if (settings.standalone || !are_others_awaited || !is_loopback || IsOwnName(settings.sched_host, own_name)) return "";
  return absl::StrCat("sched_host (MS_SCHED_HOST) is ", settings.sched_host,
                      ", which means this machine on every node, and the job has ", total,
                      total == 1 ? " process" : " processes", ", ", slots,
                      " of them here: agents on other machines can't join it. Give every node the name or address of "
                      "one machine with --sched_host; where all agents run on this machine, nothing is wrong");
}

}  // namespace muster::agent
