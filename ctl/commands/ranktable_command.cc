// `ms-ctl ranktable`: prints or checks rank tables of Ascend clusters.
//
//   [JOB]          prints the table of the job's round, from the devices that its nodes have reported
//   --check FILE   says which rules of the format the file breaks, at which entries, and what to write instead
//   --for N        prints a table for N nodes, without a job: --hosts names the nodes, --device_ips their devices
//
// Only the first form asks a scheduler.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/net/address_rules.h"
#include "common/net/ip_address.h"
#include "common/sys/file_io.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"
#include "worker_agent/ascend/made_table.h"
#include "worker_agent/launch/rank_table.h"
#include "worker_agent/settings/device_words.h"

namespace muster::ctl {
namespace {

using agent::RankedDevice;
using Json = nlohmann::json;

std::string Count(size_t count, const std::string& one) { return absl::StrCat(count, " ", one, count == 1 ? "" : "s"); }

Json ReportJson(const std::string& file, const agent::TableReport& report) {
  Json problems = Json::array();
  for (const agent::TableProblem& problem : report.problems) {
    problems.push_back(
        {{"rule", problem.rule}, {"entry", problem.entry}, {"found", problem.found}, {"write", problem.remedy}});
  }
  return Json{{"file", file},
              {"is_good", report.problems.empty()},
              {"version", report.table.version},
              {"servers", report.table.servers.size()},
              {"devices", report.table.rank_count},
              {"problems", problems},
              {"remarks", report.remarks}};
}

std::string ReportText(const std::string& file, const agent::TableReport& report) {
  std::string out;
  if (report.problems.empty()) {
    absl::StrAppend(&out, file, " follows all rules: version ", report.table.version, ", ",
                    Count(report.table.servers.size(), "server"), ", ", Count(report.table.rank_count, "device"), "\n");
  } else {
    absl::StrAppend(&out, file, " breaks ", Count(report.problems.size(), "rule"), "; HCCL would say EI0004\n");
  }
  for (const agent::TableProblem& problem : report.problems) {
    absl::StrAppend(&out, "\n", problem.rule, " at ", problem.entry, "\n  found:  ", problem.found,
                    "\n  write:  ", problem.remedy, "\n");
  }
  for (const std::string& remark : report.remarks) absl::StrAppend(&out, "note: ", remark, "\n");
  return out;
}

int CheckFile(const CtlSettings& settings) {
  const absl::StatusOr<std::string> text = ReadSmallFile(settings.check_file, agent::kMaxRankTableBytes);
  if (!text.ok()) return Complain(text.status());
  const agent::TableReport report = agent::CheckRankTable(*text);
  const std::string file = EscapeControl(settings.check_file);
  Print(settings.json ? EscapeJson(ReportJson(file, report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n")
                      : ReportText(file, report));
  return report.problems.empty() ? kExitSuccess : kExitJobFailed;
}

int PrintTable(std::vector<RankedDevice> devices) {
  const absl::StatusOr<std::string> text = agent::RankTableText(std::move(devices));
  return text.ok() ? Print(*text) : Complain(text.status());
}

int MakeWithoutJob(const CtlSettings& settings) {
  const uint32_t nodes = settings.for_nodes;
  std::vector<std::string> hosts;
  if (!settings.hosts.empty()) hosts = absl::StrSplit(settings.hosts, ',');
  if (hosts.size() != nodes) {
    return Usage(absl::StrCat("ranktable --for ", nodes, ": --hosts names ", hosts.size(),
                              " nodes; give each one's address, rank 0's first, with commas between them"));
  }
  if (settings.device_ips.size() != nodes) {
    return Usage(absl::StrCat("ranktable --for ", nodes, ": --device_ips is given ", settings.device_ips.size(),
                              " times; give it once for each node of --hosts, with the addresses that "
                              "`hccn_tool -i N -ip -g` prints there"));
  }
  std::vector<RankedDevice> devices;
  for (uint32_t node = 0; node < nodes; ++node) {
    const auto host = IpAddress::Parse(hosts[node]);
    if (!host || host->is_any()) {
      return Usage(absl::StrCat("ranktable: --hosts: ", Quoted(hosts[node]), " is no numeric address"));
    }
    if (IsLinkLocal(*host)) return Usage(absl::StrCat("ranktable: --hosts: ", Quoted(hosts[node]), " ", kNoLinkLocal));
    const auto addresses = ParseDeviceAddresses(settings.device_ips[node]);
    if (!addresses.ok()) return Usage(absl::StrCat("ranktable: --device_ips ", addresses.status().message()));
    for (size_t i = 0; i < addresses->size(); ++i) {
      const DeviceAddress& device = (*addresses)[i];
      devices.push_back({static_cast<uint32_t>(devices.size()), node, host->ToString(), hosts[node],
                         absl::StrCat(device.device_id.value_or(static_cast<uint32_t>(i))), device.address, "", ""});
    }
  }
  return PrintTable(std::move(devices));
}

int PrintJobsTable(Call& call) {
  const auto jobs = ForEachJob(*call.client, call.settings, &AdminClient::ListRanks);
  if (!jobs.ok()) return Complain(jobs.status());
  if (jobs->size() != 1) {
    return Usage(jobs->empty() ? "ranktable: there is no job yet"
                               : "ranktable: there are several jobs: name one, as in ms-ctl ranktable JOB");
  }
  std::vector<RankedDevice> devices;
  for (const v1::RankStatus& rank : jobs->front().reply.ranks()) {
    if (rank.role() != v1::ROLE_WORKER) continue;
    devices.push_back({rank.rank(), rank.node_rank(), rank.address(), rank.node_id(), rank.device_id(),
                       rank.device_address(), rank.super_pod(), rank.super_device_id()});
  }
  if (devices.empty()) return Complain(absl::FailedPreconditionError("the job has no ranks yet: see ms-ctl why"));
  return PrintTable(std::move(devices));
}

}  // namespace

int ShowRankTable(Call& call) {
  const CtlSettings& settings = call.settings;
  if (!settings.check_file.empty() && settings.for_nodes > 0) {
    return Usage("ranktable: --check and --for contradict each other; leave one of them out");
  }
  if (!settings.check_file.empty()) return CheckFile(settings);
  if (settings.for_nodes > 0) return MakeWithoutJob(settings);
  return AskTrustedWith(settings.job_id, call, PrintJobsTable);
}

}  // namespace muster::ctl
