// The variables for HCCL on Ascend devices. It takes a rank table or a chief, and refuses variables of both:
//
//   a rank table       RANK_TABLE_FILE; RANK_ID, RANK_SIZE and DEVICE_ID stay (env_mindspore.cc); CM_* are taken away
//   a chief            CM_*, ASCEND_DEVICE_ID; RANK_TABLE_FILE, RANK_ID, RANK_SIZE and DEVICE_ID are taken away
//   device addresses   only the tuning below
//   none of them       nothing; an inherited RANK_TABLE_FILE is another job's
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
  builder.Default("HCCL_IF_BASE_PORT", "60000");
  builder.Default("HCCL_WHITELIST_DISABLE", "1");
  builder.Default("HCCL_CONNECT_TIMEOUT", "120");
}

}  // namespace muster::agent
