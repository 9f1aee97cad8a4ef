#include "ctl/commands/ctl_settings.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/settings/names.h"
#include "common/settings/sched_address.h"
#include "common/show/hostfile.h"
#include "ctl/commands/commands.h"
#include "scheduler/scheduler_settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::ctl {
namespace {

std::string UsageText() {
  size_t width = 0;
  for (const Command& c : Commands()) width = std::max(width, c.name.size() + c.argument.size() + 1);
  std::string out = "ms-ctl COMMAND [settings]\n\nCommands:";
  for (const Command& c : Commands()) {
    std::string name = c.argument.empty() ? c.name : absl::StrCat(c.name, " ", c.argument);
    name.resize(width, ' ');
    absl::StrAppend(&out, "\n  ", name, "  ", c.help);
  }
  return out;
}

// A config file shared with ms-worker and ms-scheduler has their settings as well. On the command line they are unknown
// words.
void AddOthersOwn(SettingsTable& table) {
  agent::AgentSettings worker;
  scheduler::SchedulerSettings scheduler;
  const SettingsTable tables[] = {agent::AgentSettingsTable(worker), scheduler::SchedulerSettingsTable(scheduler)};
  for (const SettingsTable& others : tables) {
    for (const Setting& setting : others.settings()) {
      const NameIndex names(table);
      if (names.FindFlag(setting.flag) != nullptr) continue;
      const std::string program = others.program();
      table.AddIgnored(setting.flag, setting.value_name, setting.env).aliases = setting.aliases;
      table.AtEnd([flag = setting.flag, program](LoadResult& loaded) {
        if (!absl::StartsWith(loaded.sources[flag], "--")) return;
        loaded.findings.errors.push_back(
            absl::StrCat("--", flag, " is for ", program, ", not for ms-ctl: leave it out"));
      });
    }
  }
}

void AddRankTable(SettingsTable& table, CtlSettings& settings) {
  const std::string group = "ms-ctl ranktable";
  Setting& check = table.AddString("check", &settings.check_file, "Explains what is wrong with a rank table.");
  check.group = group;
  check.value_name = "FILE";
  Setting& nodes = table.AddUint("for", &settings.for_nodes, 1, kMaxWorkers, "Makes the table of that many nodes.");
  nodes.group = group;
  nodes.value_name = "N";
  nodes.default_text = "of a job";
  Setting& hosts = table.AddString("hosts", &settings.hosts, "With --for: the nodes' addresses, rank 0's node first.");
  hosts.group = group;
  hosts.value_name = "ADDRESSES";
  Setting& device_ips = table.AddStrings("device_ips", &settings.device_ips,
                                         "With --for: the addresses of one node's devices, in the order of --hosts; "
                                         "also as 4=ADDRESS,5=ADDRESS. Once for each node.");
  device_ips.group = group;
  device_ips.value_name = "ADDRESSES";
}

void AddLooks(SettingsTable& table, CtlSettings& settings) {
  table.BeginGroup("ms-ctl nodes, events, top, logs, report and watch");
  table.AddBool("missing", &settings.missing, "nodes: whom the job waits for, and who was refused lately.");
  table.AddString("since", &settings.since, "events: only those since then: 2h, 30m, 2026-11-25, 2026-11-25T14:30.")
      .Value("TIME")
      .Default("the first");
  table.AddBool("follow", &settings.follow, "logs: go on with what the process writes, until the run ends. Also: -f.");
  table.AddUint("lines", &settings.lines, 1, kMaxLogLines, "logs, top: how many lines at most.")
      .Value("N")
      .Default("100; top: 10");
  table.AddString("output", &settings.output_file, "report: the file to write; - for standard output. Also: -o.")
      .Value("FILE")
      .Default("muster-JOB-RUN.html");
  table.AddBool("plain", &settings.plain, "watch: lines as they come, also on a terminal.");
}

void AddHostFile(SettingsTable& table, CtlSettings& settings) {
  Setting& form = table.AddChoice("form", &settings.form, {kHostFileForms, std::end(kHostFileForms)},
                                  "Whose list of machines it is.");
  form.group = "ms-ctl hostfile";
}

}  // namespace

SettingsTable CtlSettingsTable(CtlSettings& settings) {
  SettingsTable table("ms-ctl", UsageText(), "Shows and steers what a scheduler's jobs do.");
  const std::string where = "The scheduler";
  table.BeginGroup(where);
  AddSchedAddress(table, &settings.sched_host, &settings.sched_port, /*may_be_zero=*/true,
                  {"The scheduler's address or host name, with or without its port.", "The scheduler's port."});
  Setting& socket =
      table.AddString("admin_socket", &settings.admin_socket, "The scheduler's Unix socket, for changing calls.");
  socket.env = {"MS_ADMIN_SOCKET"};
  socket.group = where;
  socket.value_name = "PATH";
  socket.default_text = "by the port";
  Setting& timeout = table.AddSeconds("timeout", &settings.timeout, absl::Milliseconds(100), absl::Hours(1),
                                      "How long to wait for an answer.");
  timeout.group = where;
  timeout.value_name = "SECONDS";

  Setting& reason = table.AddString("reason", &settings.reason,
                                    "Why, for a changing call: everybody is told, and it stays in the events.");
  reason.group = where;
  reason.value_name = "TEXT";

  Setting& yes = table.AddBool("yes", &settings.yes, "Stops a job without asking whether it is the right one.");
  yes.group = where;

  Setting& now = table.AddBool("now", &settings.now, "drain: now, by a restart of all processes of the job.");
  now.group = where;

  const std::string what = "What to show";
  Setting& job = table.AddString("job", &settings.job_id, "Only this job.");
  job.aliases = {"job_id"};
  job.env = {"MS_JOB_ID"};
  job.group = what;
  job.value_name = "ID";
  job.default_text = "all";
  Setting& run = table.AddUint("run", &settings.run, 0, UINT32_MAX, "That run of the job.");
  run.group = what;
  run.value_name = "N";
  run.default_text = "the latest";
  Setting& json = table.AddBool("json", &settings.json, "Print one JSON document, for scripts.");
  json.group = what;
  AddRankTable(table, settings);
  AddHostFile(table, settings);
  AddLooks(table, settings);
  AddTls(table, &settings.tls);
  AddOthersOwn(table);
  return table;
}

}  // namespace muster::ctl
