#include "worker_agent/launch/environment/environment.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/address_rules.h"
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxShown = 6;
constexpr size_t kMaxShownValue = 40;

std::string ValueOf(const Environment& environment, const std::string& name) {
  const std::string prefix = name + "=";
  for (const std::string& variable : environment.variables) {
    if (absl::StartsWith(variable, prefix)) return variable.substr(prefix.size());
  }
  return "";
}

Environment BuildWith(const std::map<std::string, std::string>& overrides, const EnvironmentInput& input) {
  EnvironmentBuilder builder(input.inherited, overrides);
  AddCommonVariables(input, builder);
  AddMindSporeVariables(input, builder);
  AddPyTorchVariables(input, builder);
  AddHorovodVariables(input, builder);
  AddJaxVariables(input, builder);
  AddTensorFlowVariables(input, builder);
  AddHcclVariables(input, builder);
  AddMpiVariables(input, builder);
  AddExecVariables(input, builder);
  for (const auto& [name, value] : input.gateway_variables) builder.Identity(name, value);
  return std::move(builder).Build();
}

}  // namespace

Environment BuildEnvironment(const EnvironmentInput& input) {
  std::map<std::string, std::string> overrides = input.overrides;
  const auto removed =
      std::erase_if(overrides, [](const auto& variable) { return absl::StrContains(variable.second, "{"); });
  Environment environment = BuildWith(overrides, input);
  if (removed == 0) return environment;
  const Placeholders values = PlaceholdersFor(input, environment);
  for (const auto& [name, value] : input.overrides) overrides[name] = FillPlaceholders(value, values);
  return BuildWith(overrides, input);
}

std::string ReplacedNotice(const std::map<std::string, std::string>& replaced) {
  if (replaced.empty()) return "";
  std::string shown;
  size_t count = 0;
  for (const auto& [name, value] : replaced) {
    if (++count > kMaxShown) break;
    const std::string head = EscapeControl(value.substr(0, kMaxShownValue));
    absl::StrAppend(&shown, shown.empty() ? "" : ", ", name, "=", head, value.size() > kMaxShownValue ? "…" : "");
  }
  if (replaced.size() > kMaxShown) absl::StrAppend(&shown, " and ", replaced.size() - kMaxShown, " more");
  return absl::StrCat("inherited ", shown,
                      " differed from this job's and was replaced for the training processes (to keep a value: "
                      "--env NAME=VALUE)");
}

Placeholders PlaceholdersFor(const EnvironmentInput& input, const Environment& environment) {
  const v1::DesiredState& desired = *input.desired;
  const v1::Assignment& assignment = desired.assignment();
  const v1::SlotAssignment& slot = SlotOf(input);
  // Placeholders name rank 0's machine, even if MASTER_ADDR leads to this machine's agent, which relays to the store.
  const bool is_local = input.local_store_port != 0 && !IsMasterNamed(input);
  const std::string host = is_local ? assignment.master_address() : ValueOf(environment, "MASTER_ADDR");
  const std::string port = is_local ? std::to_string(assignment.master_port()) : ValueOf(environment, "MASTER_PORT");
  return {
      {"rank", std::to_string(slot.rank())},
      {"world_size", std::to_string(WorldSizeOf(input))},
      {"node_rank", std::to_string(assignment.node_rank())},
      {"nnodes", std::to_string(assignment.machine_num())},
      {"local_rank", std::to_string(slot.local_rank())},
      {"local_world_size", std::to_string(assignment.local_world_size())},
      {"nproc_per_node", std::to_string(assignment.local_world_size())},
      {"master", absl::StrCat(BracketIpv6(host), ":", port)},
      {"master_addr", host},
      {"master_port", port},
      {"job_id", input.job_id},
      {"round", std::to_string(desired.round())},
      {"role", assignment.role() == v1::ROLE_SERVER ? "server" : "worker"},
      {"node_id", input.node_id},
      {"restart_count", std::to_string(desired.restart_count())},
  };
}

std::string PythonFolder(const std::string& program) {
  const std::filesystem::path folder =
      (std::filesystem::path(program).parent_path() / "../lib/muster/python").lexically_normal();
  std::error_code ignored;
  const bool is_there = std::filesystem::is_regular_file(folder / "muster_training.py", ignored);
  return is_there && folder.is_absolute() ? folder.string() : "";
}

}  // namespace muster::agent
