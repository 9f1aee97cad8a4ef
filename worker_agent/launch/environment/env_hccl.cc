// For HCCL on Ascend devices: only where a rank table or device addresses are known.
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {

void AddHcclVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (input.rank_table_file.empty()) {
    builder.Drop("RANK_TABLE_FILE");
  } else {
    builder.Identity("RANK_TABLE_FILE", input.rank_table_file);
  }
  if (input.rank_table_file.empty() && input.offer.device_address().empty()) return;
  builder.Default("HCCL_IF_IP", input.own_address);
  builder.Default("HCCL_WHITELIST_DISABLE", "1");
}

}  // namespace muster::agent
