// Names that --env refuses. Others that Muster sets (RANK, MUSTER_NODE_ID, …) only give a process its rank or name:
// there the user has the last word.
//
//   MUSTER_GIVEN                      by it a job inside the process knows which values are this one's, not the user's
//   MUSTER_START                      a new start of the node finds by it what the former one left, and ends that
//   MS_PROGRESS_FILE                  --progress_timeout looks at it; elsewhere a hang would go unnoticed
//   MUSTER_STORE                      the job's store; another agent's would take the values for those of its own round
//   MUSTER_EXEC_SOCKET, _TOKEN, _FD   commands on other nodes (--allow_exec) end with their round only through it
//   MUSTER_RING_PASSED                ms-ring reports by it that the links are good
//   MUSTER_TLS_HAND_OVER_FD           ms-ring takes the agent's certificate from it
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/settings/syntax.h"
#include "worker_agent/settings/table_parts.h"

namespace muster::agent {
namespace {

struct Relied {
  std::string_view name;
  const char* why;
};

constexpr char kOfCommands[] = "commands on other nodes reach their round's agent by it";
constexpr char kOfRing[] = "the check of the ring goes by it";
constexpr Relied kReliedOn[] = {
    {"MUSTER_START", "by it a new start of this node finds and ends what this one leaves"},
    {"MUSTER_GIVEN", "a job inside the process knows by it what is not its user's word"},
    {"MS_PROGRESS_FILE", "--progress_timeout notices by it that a process hangs"},
    {"MUSTER_STORE", "a process reaches its own round's store by it"},
    {"MUSTER_EXEC_SOCKET", kOfCommands},
    {"MUSTER_EXEC_TOKEN", kOfCommands},
    {"MUSTER_EXEC_FD", kOfCommands},
    {"MUSTER_RING_PASSED", kOfRing},
    {"MUSTER_TLS_HAND_OVER_FD", kOfRing},
};

absl::Status CheckName(const std::string& name) {
  for (const Relied& relied : kReliedOn) {
    if (name != relied.name) continue;
    return absl::InvalidArgumentError(absl::StrCat("sets ", name, ", which ms-worker sets itself: ", relied.why));
  }
  return absl::OkStatus();
}

}  // namespace

void AddEnv(SettingsTable& table, std::map<std::string, std::string>* env) {
  Setting setting;
  setting.flag = "env";
  setting.value_name = "NAME=VALUE";
  setting.help =
      "Sets a variable of the processes, above all else, with {rank} and similar words filled in. May be repeated.";
  setting.is_repeated = true;
  setting.parse = [env](const std::string& text) -> absl::Status {
    const auto variable = ParseVariable(text);
    absl::Status status = variable.ok() ? CheckName(variable->first) : variable.status();
    if (status.ok()) (*env)[variable->first] = variable->second;
    return status;
  };
  setting.show = [env] { return absl::StrJoin(*env, ", ", absl::PairFormatter("=")); };
  table.Add(std::move(setting));
}

}  // namespace muster::agent
