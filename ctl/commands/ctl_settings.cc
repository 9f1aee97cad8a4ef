#include "ctl/commands/ctl_settings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ctl/commands/commands.h"

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

}  // namespace

SettingsTable CtlSettingsTable(CtlSettings& settings) {
  SettingsTable table("ms-ctl", UsageText(), "Shows and steers what a scheduler's jobs do.");
  const std::string where = "The scheduler";
  Setting& host = table.AddString("sched_host", &settings.sched_host, "The scheduler's address or host name.");
  host.env = {"MS_SCHED_HOST"};
  host.group = where;
  host.value_name = "HOST";
  Setting& port = table.AddPort("sched_port", &settings.sched_port, "The scheduler's port.");
  port.env = {"MS_SCHED_PORT"};
  port.group = where;
  port.value_name = "PORT";
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
  AddTls(table, &settings.tls);
  return table;
}

}  // namespace muster::ctl
