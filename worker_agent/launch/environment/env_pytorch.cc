// The variables that torchrun gives its children, so that PyTorch's init_process_group("env://") finds everything.
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {

void AddPyTorchVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  const v1::DesiredState& desired = *input.desired;
  const v1::Assignment& assignment = desired.assignment();
  const v1::SlotAssignment& slot = SlotOf(input);
  const uint32_t world_size = WorldSizeOf(input);

  builder.Identity("RANK", slot.rank());
  builder.Identity("WORLD_SIZE", world_size);
  builder.Identity("LOCAL_RANK", slot.local_rank());
  builder.Identity("LOCAL_WORLD_SIZE", assignment.local_world_size());
  builder.Identity("GROUP_RANK", assignment.node_rank());
  builder.Identity("GROUP_WORLD_SIZE", assignment.machine_num());
  builder.Identity("NODE_RANK", assignment.node_rank());
  builder.Identity("NNODES", assignment.machine_num());
  builder.Identity("ROLE_RANK", slot.rank());
  builder.Identity("ROLE_WORLD_SIZE", world_size);
  // "default" is torchrun's own name for the role when a job has only one.
  builder.Identity("ROLE_NAME", assignment.role() == v1::ROLE_SERVER ? "server" : "default");

  // This must be equal on all ranks: PyTorch makes it the prefix of the store's keys, so ranks that differ hang.
  builder.Identity("TORCHELASTIC_RESTART_COUNT", desired.round() > 0 ? desired.round() - 1 : 0);
  builder.Identity("TORCHELASTIC_MAX_RESTARTS", input.max_restarts);
  builder.Identity("TORCHELASTIC_RUN_ID", input.job_id);
  // "True" makes all ranks connect to the store as clients. If no agent serves it, rank 0 must host it and the value
  // must be "False": otherwise all would wait for a store that no process hosts. A launcher sets this for its own
  // processes.
  const bool is_elsewhere = IsMasterNamed(input);
  if (input.brings_own_store) {
    builder.Drop("TORCHELASTIC_USE_AGENT_STORE");
  } else {
    builder.Identity("TORCHELASTIC_USE_AGENT_STORE", input.has_torch_store && !is_elsewhere ? "True" : "False");
  }
  if (input.error_file.empty()) {
    builder.Drop("TORCHELASTIC_ERROR_FILE");
  } else {
    builder.Identity("TORCHELASTIC_ERROR_FILE", input.error_file);
  }

  // Scripts that open a service of their own on rank 0's machine need this, since MASTER_ADDR may be loopback (below).
  builder.Identity("MUSTER_RANK0_ADDR", assignment.master_address());
  const bool is_local = input.local_store_port != 0 && !is_elsewhere;  // the port differs from agent to agent
  const std::string address = is_local ? "127.0.0.1" : input.master_address;
  const std::string port = is_local ? std::to_string(input.local_store_port) : input.master_port;
  if (!address.empty()) builder.Replace("MASTER_ADDR", address);
  if (!port.empty()) builder.Replace("MASTER_PORT", port);
  builder.Default("MASTER_ADDR", assignment.master_address());
  builder.Default("MASTER_PORT", std::to_string(assignment.master_port()));
  if (!input.collective_interface.empty()) {
    builder.Default("GLOO_SOCKET_IFNAME", input.collective_interface);
    builder.Default("TP_SOCKET_IFNAME", input.collective_interface);
  }
  // Several processes, each with a thread for each core, slow each other down. A single process may use all cores.
  if (assignment.local_world_size() > 1 && !input.is_one_for_node) builder.Default("OMP_NUM_THREADS", "1");
}

}  // namespace muster::agent
