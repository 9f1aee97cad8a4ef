// The variables for HCCL on Ascend devices. HCCL works with a rank table or a chief; it refuses to start if it finds
// variables of both. The first row that fits applies:
//
//   the process has      it gets
//   a chief              CM_*, ASCEND_DEVICE_ID and tuning; RANK_TABLE_FILE, RANK_ID, RANK_SIZE, DEVICE_ID are removed
//   a rank table         RANK_TABLE_FILE and tuning; CM_* are removed (env_mindspore.cc sets RANK_ID, RANK_SIZE, …)
//   a device address     tuning (HCCL_*) only; RANK_TABLE_FILE is removed
//   none of these        nothing; RANK_TABLE_FILE is removed, since an inherited one belongs to another job
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {
namespace {

void AddChief(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  builder.Identity("CM_CHIEF_IP", input.hccl_chief->address);
  builder.Replace("CM_CHIEF_PORT", std::to_string(input.hccl_chief->port));
  builder.Identity("CM_CHIEF_DEVICE", input.hccl_chief->device_id);
  builder.Identity("CM_WORKER_IP", input.own_address);
  builder.Identity("CM_WORKER_SIZE", WorldSizeOf(input));
  builder.Identity("ASCEND_DEVICE_ID", DeviceIdOf(input));
  for (const char* name : {"RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE", "DEVICE_ID"}) builder.Drop(name);
}

void AddTable(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  builder.Identity("RANK_TABLE_FILE", input.rank_table_file);
  for (const char* name : {"CM_CHIEF_IP", "CM_CHIEF_PORT", "CM_CHIEF_DEVICE", "CM_WORKER_IP", "CM_WORKER_SIZE"}) {
    builder.Drop(name);
  }
}

}  // namespace

void AddHcclVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (input.hccl_chief) {
    AddChief(input, builder);
  } else if (!input.rank_table_file.empty()) {
    AddTable(input, builder);
  } else {
    builder.Drop("RANK_TABLE_FILE");
    if (input.offer.device_address().empty()) return;
  }
  builder.Default("HCCL_IF_IP", input.own_address);
  // This may stay beside HCCL_HOST_SOCKET_PORT_RANGE, which has precedence in HCCL. An older HCCL knows only this one.
  builder.Default("HCCL_IF_BASE_PORT", "60000");
  builder.Default("HCCL_WHITELIST_DISABLE", "1");
  builder.Default("HCCL_CONNECT_TIMEOUT", "120");
}

}  // namespace muster::agent
