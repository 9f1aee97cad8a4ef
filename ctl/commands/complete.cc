// `ms-ctl completion`: the script, and what it asks for while somebody types.
#include "absl/strings/str_cat.h"
#include "common/base/exit_codes.h"
#include "common/base/ids.h"
#include "ctl/certs/certs_program.h"
#include "ctl/certs/certs_settings.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/completion.h"
#include "ctl/commands/handlers.h"

namespace muster::ctl {
namespace {

std::vector<std::string> FlagsOf(const SettingsTable& table) {
  std::vector<std::string> flags = {"--help", "--version", "--config"};
  for (const Setting& setting : table.settings()) {
    if (!setting.is_hidden) flags.push_back("--" + setting.flag);
  }
  return flags;
}

// For TAB, asked for by the script itself: quick, and silent about errors. Bash carries out what stands in a list of
// words, $(…) as well: whatever answers at that port, only what may be an id is handed on.
int CompleteFromScheduler(Call& call, bool wants_nodes) {
  const CtlSettings& settings = call.settings;
  const auto tls = OpenTls(settings);
  if (!tls.ok()) return kExitSecurity;
  const auto client = AdminClient::OverTcp(settings.sched_host, settings.sched_port, absl::Seconds(1),
                                           SecurityOf(settings, *tls), {}, wants_nodes ? settings.job_id : "");
  if (!client.ok()) return kExitUnreachable;
  std::string names;
  const auto add = [&names](const std::string& id) {
    if (IsId(id)) absl::StrAppend(&names, id, "\n");
  };
  if (wants_nodes) {
    const auto jobs = ForEachJob(**client, settings, &AdminClient::ListNodes);
    if (!jobs.ok()) return kExitUnreachable;
    for (const NodesOfJob& job : *jobs) {
      for (const v1::NodeStatus& node : job.reply.nodes()) add(node.node_id());
    }
  } else {
    const absl::StatusOr<v1::StatusReply> reply = (*client)->GetStatus("", 0);
    if (!reply.ok()) return kExitUnreachable;
    for (const v1::RunStatus& run : reply->runs()) add(run.job_id());
  }
  return Print(names);
}

}  // namespace

int PrintCompletion(Call& call) {
  if (call.argument == "jobs" || call.argument == "nodes") return CompleteFromScheduler(call, call.argument == "nodes");
  if (call.argument != "bash") return Usage("completion: name the shell: ms-ctl completion bash (only bash is known)");
  CompletionWords offered;
  for (const Command& command : Commands()) offered.commands.push_back(command.name);
  offered.flags = FlagsOf(call.table);
  certs::CertsSettings certs_settings;
  offered.certs_flags = FlagsOf(certs::CertsSettingsTable(certs_settings));
  for (const certs::CertsCommand& command : certs::CertsCommands()) offered.certs_commands.push_back(command.name);
  return Print(BashCompletion(offered));
}

}  // namespace muster::ctl
