#include "worker_agent/settings/hccl_settings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/settings/cluster_settings.h"
#include "common/settings/values.h"
#include "worker_agent/settings/device_words.h"

namespace muster::agent {

void AddHccl(SettingsTable& table, AgentSettings& s) {
  table
      .AddChoice(
          "hccl_mode", &s.hccl_mode, {"table", "chief"},
          "How HCCL on Ascend devices finds the ranks. table: by a rank table that the agent writes for each "
          "round (RANK_TABLE_FILE). chief: rank 0 collects the others (CM_*), for TensorFlow. Set the same value "
          "on every node.")
      .Env({"MS_HCCL_MODE"})
      .Default("none");
  AddCheckedText(
      table, "device_ips", &s.device_ips, [](const std::string& text) { return ParseDeviceAddresses(text).status(); },
      "Addresses of the devices' own network ports, one for each process of this node. Also as 4=ADDRESS,5=ADDRESS.")
      .Value("ADDRESSES")
      .Default("from /etc/hccn.conf, else from hccn_tool")
      .Env({"MS_DEVICE_IPS"});
  AddCheckedText(table, "super_pod", &s.super_pod, CheckId,
                 "Super pod of this machine, for a rank table of version 1.2.")
      .Value("ID")
      .Env({"MS_SUPER_POD"});
  AddCheckedText(
      table, "super_device_ids", &s.super_device_ids,
      [](const std::string& text) { return ParseSuperDeviceIds(text).status(); },
      "Numbers of the devices in their super pod, one for each process of this node.")
      .Value("NUMBERS")
      .Env({"MS_SUPER_DEVICE_IDS"});
  Setting port;
  port.flag = "chief_port";
  port.value_name = "PORT";
  port.env = {"CM_CHIEF_PORT"};
  port.help = "With --hccl_mode chief: port of HCCL's chief on rank 0's node.";
  port.range_text = "1 to 65520";
  port.parse = [&s](const std::string& text) -> absl::Status {
    const auto number = ParseWholeNumber(text, 1, 65520);
    if (!number.ok()) return absl::InvalidArgumentError("must be a port from 1 to 65520");
    s.chief_port = static_cast<uint16_t>(*number);
    return absl::OkStatus();
  };
  port.show = [&s] { return absl::StrCat(s.chief_port); };
  table.Add(std::move(port));
}

void CheckHccl(const AgentSettings& s, SettingsFindings& findings) {
  const bool is_chief = s.hccl_mode == "chief";
  if (is_chief && (!s.rank_table_file.empty() || s.env.contains("RANK_TABLE_FILE"))) {
    findings.errors.push_back(
        absl::StrCat("hccl_mode is chief, but there is also a rank table, ",
                     s.rank_table_file.empty() ? s.env.at("RANK_TABLE_FILE") : s.rank_table_file,
                     ": HCCL refuses both together; leave out --hccl_mode, or --rank_table_file (RANK_TABLE_FILE)"));
  }
  const bool has_table = s.hccl_mode == "table" || !s.rank_table_file.empty();
  const auto chief_variable =
      std::find_if(s.env.begin(), s.env.end(), [](const auto& v) { return absl::StartsWith(v.first, "CM_"); });
  if (has_table && chief_variable != s.env.end()) {
    findings.errors.push_back(absl::StrCat("env has ", chief_variable->first,
                                           ", but there is a rank table: HCCL refuses both together; leave that --env "
                                           "out, or take --hccl_mode chief without a rank table"));
  }
  if (s.super_pod.empty() != s.super_device_ids.empty()) {
    findings.errors.emplace_back("super_pod and super_device_ids belong together; give both or none");
  }
  if (s.hccl_mode.empty() && (!s.device_ips.empty() || !s.super_pod.empty())) {
    const absl::string_view name = s.device_ips.empty() ? "super_pod" : "device_ips";
    findings.warnings.push_back(
        absl::StrCat(name, " has no effect without --hccl_mode table: add --hccl_mode table, or leave ", name, " out"));
  }
}

}  // namespace muster::agent
