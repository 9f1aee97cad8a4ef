// The variables for MindSpore, started as a dynamic cluster or with a rank table.
#include "absl/strings/match.h"
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {
namespace {

// Sets an identity variable, without a notice if the inherited value is the agent's own. A variable of MindSpore may
// have different values for the agent and its processes: MS_NODE_ID is the agent's node id, but a process's rank.
void QuietIdentity(EnvironmentBuilder& builder, const std::string& name, const std::string& agents_own,
                   const std::string& value) {
  if (builder.Inherited(name) == agents_own) {
    builder.Replace(name, value);
  } else {
    builder.Identity(name, value);
  }
}

std::string MindSporeRole(const EnvironmentInput& input, const EnvironmentBuilder& builder) {
  if (input.desired->assignment().role() != v1::ROLE_SERVER) return "MS_WORKER";
  // Newer versions of MindSpore say MS_SERVER, older ones MS_PSERVER. The process gets the name that the user wrote.
  return builder.Inherited("MS_ROLE") == "MS_SERVER" ? "MS_SERVER" : "MS_PSERVER";
}

}  // namespace

void AddMindSporeVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  const v1::Assignment& assignment = input.desired->assignment();
  const std::string rank = std::to_string(SlotOf(input).rank());
  builder.Identity("MS_ROLE", MindSporeRole(input, builder));
  builder.Identity("MS_WORKER_NUM", assignment.worker_num());
  if (assignment.server_num() > 0) {
    builder.Identity("MS_SERVER_NUM", assignment.server_num());
  } else if (builder.Inherited("MS_SERVER_NUM") != "0") {
    builder.Drop("MS_SERVER_NUM");
  }
  if (input.has_gateway) {
    // This needs no notice: the inherited value is ms-scheduler's address, which the agent itself uses.
    builder.Replace("MS_SCHED_HOST", input.scheduler_host);
    builder.Replace("MS_SCHED_PORT", std::to_string(input.scheduler_port));
    // MindSpore requires MS_WORKER_IP if the scheduler's address is IPv6.
    if (absl::StrContains(input.scheduler_host, ':')) builder.Default("MS_WORKER_IP", input.scheduler_host);
  } else {
    builder.Identity("MS_SCHED_HOST", input.scheduler_host);
    builder.Identity("MS_SCHED_PORT", input.scheduler_port);
  }
  QuietIdentity(builder, "MS_NODE_ID", input.node_id, rank);
  // If a Kubernetes operator has set these two variables for the agent, each process gets values of its own.
  if (!builder.Inherited("MS_NODE_RANK").empty()) builder.Identity("MS_NODE_RANK", assignment.node_rank());
  if (!builder.Inherited("MS_LOCAL_WORKER").empty()) builder.Identity("MS_LOCAL_WORKER", assignment.local_world_size());
  builder.Identity("RANK_ID", rank);
  builder.Identity("RANK_SIZE", WorldSizeOf(input));
  builder.Identity("DEVICE_ID", DeviceIdOf(input));
  if (input.enable_recovery) builder.Replace("MS_ENABLE_RECOVERY", *input.enable_recovery ? "1" : "0");
}

}  // namespace muster::agent
