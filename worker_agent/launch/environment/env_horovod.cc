// The variables for Horovod, and, with --ompi_env, Open MPI's variables of a rank's place (OMPI_COMM_WORLD_*). Without
// that flag a process doesn't get the latter: MindSpore, for example, would think that mpirun started it, and warn.
#include <set>

#include "common/net/peer_node.h"
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {
namespace {

// Horovod's "cross" communicator: all processes with the same local rank, so at most one on each machine.
struct Cross {
  uint32_t rank = 0;
  uint32_t size = 0;
};

Cross CrossOf(const EnvironmentInput& input) {
  const v1::Assignment& assignment = input.desired->assignment();
  if (input.peers == nullptr) return {assignment.node_rank(), assignment.machine_num()};
  const uint32_t local_rank = SlotOf(input).local_rank();
  std::set<uint32_t> machines;
  for (const v1::PeerNode& node : input.peers->nodes()) {
    if (node.role() != assignment.role()) continue;
    for (int slot = 0; slot < SlotCount(node); ++slot) {
      if (LocalRankOf(node, slot) == local_rank) machines.insert(node.machine());
    }
  }
  Cross cross;
  cross.size = static_cast<uint32_t>(machines.size());
  for (const uint32_t machine : machines) cross.rank += machine < assignment.node_rank() ? 1 : 0;
  return cross;
}

void AddPlace(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (input.is_one_for_node) {
    // The process is a launcher. horovodrun passes its own environment on to its ranks, and these variables would
    // replace the values that it computes for each rank.
    for (const char* name : {"RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"}) {
      builder.Drop(std::string("HOROVOD_") + name);
    }
    return;
  }
  const v1::SlotAssignment& slot = SlotOf(input);
  const Cross cross = CrossOf(input);
  builder.Identity("HOROVOD_RANK", slot.rank());
  builder.Identity("HOROVOD_SIZE", WorldSizeOf(input));
  builder.Identity("HOROVOD_LOCAL_RANK", slot.local_rank());
  builder.Identity("HOROVOD_LOCAL_SIZE", input.desired->assignment().local_world_size());
  builder.Identity("HOROVOD_CROSS_RANK", cross.rank);
  builder.Identity("HOROVOD_CROSS_SIZE", cross.size);
}

// Adds the variables that horovodrun sets. HOROVOD_HOSTNAME only needs to differ between machines.
void AddRendezvous(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  const v1::Assignment& assignment = input.desired->assignment();
  builder.Identity("HOROVOD_CONTROLLER", "gloo");
  builder.Default("HOROVOD_CPU_OPERATIONS", "gloo");
  builder.Identity("HOROVOD_GLOO_RENDEZVOUS_ADDR", "127.0.0.1");
  builder.Identity("HOROVOD_GLOO_RENDEZVOUS_PORT", input.horovod_port);
  builder.Identity("HOROVOD_HOSTNAME", "machine-" + std::to_string(assignment.node_rank()));
  // Without an interface Gloo uses the address of the host's own name, which may be 127.0.1.1 or not exist.
  std::string interface = input.collective_interface;
  if (interface.empty()) interface = builder.Inherited("GLOO_SOCKET_IFNAME");
  if (interface.empty() && assignment.machine_num() <= 1) interface = "lo";
  if (!interface.empty()) builder.Default("HOROVOD_GLOO_IFACE", interface.substr(0, interface.find(',')));
}

}  // namespace

void AddHorovodVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  const v1::Assignment& assignment = input.desired->assignment();
  const v1::SlotAssignment& slot = SlotOf(input);
  AddPlace(input, builder);
  if (input.horovod_port != 0) AddRendezvous(input, builder);
  if (input.has_horovod_mpi) {
    builder.Default("HOROVOD_CONTROLLER", "mpi");
    builder.Default("HOROVOD_CPU_OPERATIONS", "mpi");
  }

  // If mpirun started the agent, it has inherited mpirun's values, which are wrong for this process: replace them.
  if (!input.has_ompi && builder.Inherited("OMPI_COMM_WORLD_RANK").empty()) return;
  builder.Identity("OMPI_COMM_WORLD_RANK", slot.rank());
  builder.Identity("OMPI_COMM_WORLD_SIZE", WorldSizeOf(input));
  builder.Identity("OMPI_COMM_WORLD_LOCAL_RANK", slot.local_rank());
  builder.Identity("OMPI_COMM_WORLD_LOCAL_SIZE", assignment.local_world_size());
  builder.Identity("OMPI_COMM_WORLD_NODE_RANK", slot.local_rank());  // Open MPI's name for the rank within the node
}

}  // namespace muster::agent
