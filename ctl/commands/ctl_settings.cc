#include "ctl/commands/ctl_settings.h"

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

// Adds the settings of ms-worker and ms-scheduler, so that ms-ctl ignores them in a config file that all three share.
// On ms-ctl's command line they are errors.
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
  const std::vector<std::string> ranktable = {"ranktable"};
  table.AddString("check", &settings.check_file, "Rank table to check. Explains what is wrong with it.")
      .Value("FILE")
      .For(ranktable);
  table.AddUint("for", &settings.for_nodes, 1, kMaxWorkers, "Number of nodes, to make a table without a job.")
      .Value("N")
      .Default("the table of a job")
      .For(ranktable);
  table.AddString("hosts", &settings.hosts, "With --for: addresses of the nodes, with commas, rank 0's node first.")
      .Value("ADDRESSES")
      .For(ranktable);
  table
      .AddStrings("device_ips", &settings.device_ips,
                  "With --for: addresses of a node's devices, with commas, also as 4=ADDRESS,5=ADDRESS for devices 4 "
                  "and 5. Repeat it for each node, in the order of --hosts.")
      .Value("ADDRESSES")
      .For(ranktable);
}

// Adds the settings that only some commands use.
void AddSettingsOfCommands(SettingsTable& table, CtlSettings& settings) {
  table.BeginGroup("Settings of some commands");
  table
      .AddBool("missing", &settings.missing,
               "Shows only the nodes that the job waits for, and nodes that were refused lately.")
      .For({"nodes"});
  table.AddString("since", &settings.since, "Shows only later events: 2h, 30m, 2026-11-25, 2026-11-25T14:30.")
      .Value("TIME")
      .Default("the first")
      .For({"events"});
  table
      .AddBool("follow", &settings.follow,
               "Also shows what the process writes from now on, until the run ends. Also: -f.")
      .For({"logs"});
  table.AddUint("lines", &settings.lines, 1, kMaxLogLines, "Number of lines at most.")
      .Value("N")
      .Default("100; top: 10")
      .For({"logs", "top"});
  table.AddBool("plain", &settings.plain, "Prints lines as they come, even on a terminal.").For({"watch"});
  table.AddString("output", &settings.output_file, "File to write. -: standard output. Also: -o.")
      .Value("FILE")
      .Default("muster-JOB-RUN.html")
      .For({"report"});
  table.AddString("reason", &settings.reason, "Reason, which all agents get and the events keep.")
      .Value("TEXT")
      .For({"stop", "restart", "drain", "undrain", "fence"});
  table.AddBool("yes", &settings.yes, "Stops the job without asking whether it is the right one.").For({"stop"});
  table.AddBool("now", &settings.now, "Takes effect now, by a restart of all processes of the job.").For({"drain"});
  table
      .AddChoice("form", &settings.form, {kHostFileForms, std::end(kHostFileForms)},
                 "Program that reads the list of machines.")
      .For({"hostfile"});
  AddRankTable(table, settings);
}

}  // namespace

SettingsTable CtlSettingsTable(CtlSettings& settings) {
  SettingsTable table("ms-ctl", "ms-ctl COMMAND [settings]",
                      "Shows and steers the jobs of a scheduler. `ms-ctl help COMMAND` explains one command and its "
                      "settings.");
  for (const Command& command : Commands()) table.AddCommand({command.group, command.Words(), command.help});
  table.BeginGroup("The scheduler");
  AddSchedAddress(table, &settings.sched_host, &settings.sched_port, /*may_be_zero=*/true,
                  {"Host name or address of the scheduler, with or without its port.", "Port of the scheduler."})
      .Range("1024 to 65535");
  table
      .AddString("admin_socket", &settings.admin_socket,
                 "Unix socket of the scheduler, for commands that change a job, and for logs and stacks.")
      .Value("PATH")
      .Default("by the port")
      .Env({"MS_ADMIN_SOCKET"});
  table.AddSeconds("timeout", &settings.timeout, absl::Milliseconds(100), absl::Hours(1),
                   "Time to wait for an answer.");
  table.BeginGroup("What to show");
  table.AddString("job", &settings.job_id, "Job that the command is about.")
      .Value("ID")
      .Default("all jobs, or the only one")
      .Env({"MS_JOB_ID"})
      .Alias({"job_id"})
      .Common();
  table.AddUint("run", &settings.run, 0, UINT32_MAX, "Run of the job.").Default("the latest");
  table.AddBool("json", &settings.json, "Prints one JSON document, for scripts.").Common();
  AddSettingsOfCommands(table, settings);
  AddTls(table, &settings.tls);
  AddOthersOwn(table);
  return table;
}

}  // namespace muster::ctl
