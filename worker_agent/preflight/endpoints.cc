// A variable                   is the processes' own unless
//
// MASTER_ADDR, MASTER_PORT     it is not set: rank 0's agent tells it
// CM_CHIEF_IP, CM_CHIEF_PORT   HCCL has a chief or a rank table of ours (--hccl_mode, --rank_table_file)
// JAX_COORDINATOR_ADDRESS      the agent is JAX's coordination service
// any of them with --env       never: that stands above all
// any of them with --per_job   always: one command, on one node
#include "worker_agent/preflight/endpoints.h"

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

// Of --env, else inherited.
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
  // (What has placeholders is rank 0's, or the script's own affair.)
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
                                    ", which is no address of this machine, but it says where this node is reached; "
                                    "set it on each node to that node's own, or leave it out"));
  }
  for (const char* name : {"HCCL_IF_IP", "CM_WORKER_IP", kMasterAddress, kChiefAddress, kJaxCoordinator}) {
    const std::string value = Effective(settings, environment, name);
    if (value.empty() || !IsLinkLocal(value)) continue;
    warnings.push_back(absl::StrCat(name, " is ", EscapeControl(value), ", and ", kNoLinkLocal));
  }
  return warnings;
}

}  // namespace muster::agent
