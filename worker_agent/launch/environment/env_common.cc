// The variables for all processes, in any framework.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {
namespace {

std::string LocalRankList(const v1::Assignment& assignment) {
  return absl::StrJoin(assignment.slots(), ",", [](std::string* out, const v1::SlotAssignment& slot) {
    out->append(std::to_string(slot.local_rank()));
  });
}

}  // namespace

void AddCommonVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  const v1::DesiredState& desired = *input.desired;
  builder.Identity("MS_CLUSTER_FILE", input.cluster_file);
  builder.Replace("MS_PROGRESS_FILE", input.progress_file);
  builder.Identity("MS_STACKS_FILE", input.stacks_file);
  builder.Identity("MS_ROUND", desired.round());
  builder.Identity("MS_RESTART_COUNT", desired.restart_count());
  builder.Identity("MS_JOB_ID", input.job_id);
  builder.Identity("MUSTER_NODE_ID", input.node_id);
  if (!input.start_secret.empty()) builder.Replace(kStartVariable, input.start_secret);
  builder.Pass(kStartVariable);  // processes of an agent inside this process keep the variable, too
  if (input.script_store_port != 0) {
    builder.Replace("MUSTER_STORE", absl::StrCat("127.0.0.1:", input.script_store_port));
  } else {
    builder.Drop("MUSTER_STORE");  // an inherited one is an outer agent's
  }
  // With --per_node, one process stands for all slots. Its RANK and LOCAL_RANK are the first slot's; this
  // variable lists the local ranks of all slots.
  if (input.is_one_for_node) {
    builder.Identity("MUSTER_LOCAL_RANKS", LocalRankList(desired.assignment()));
  } else {
    builder.Drop("MUSTER_LOCAL_RANKS");
  }
  if (!input.device_variable.empty() && input.are_devices_named) {
    builder.Replace(input.device_variable, input.visible_devices);
  } else if (!input.device_variable.empty()) {
    builder.Default(input.device_variable, input.visible_devices);
  }
  builder.Pass(input.device_variable);
  // Muster's folder goes to the end of the list, so that its module hides none of the user's.
  if (!input.python_folder.empty()) builder.Append("PYTHONPATH", input.python_folder);
  // A user may set it to an empty value, which makes Python buffer; Default would replace that value.
  if (!input.inherited.contains("PYTHONUNBUFFERED")) builder.Default("PYTHONUNBUFFERED", "1");
}

}  // namespace muster::agent
