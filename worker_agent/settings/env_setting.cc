// Variables that --env refuses to set, since Muster itself needs them. It may set Muster's other variables, such as
// RANK and MUSTER_NODE_ID, which only matter to the process.
//
//   MUSTER_GIVEN                      shows an ms-worker inside the process which values the user has not set
//   MUSTER_START                      a later start of this node finds processes that this start has left
//   MS_PROGRESS_FILE                  --progress_timeout watches this file; with another one it could not see a hang
//   MUSTER_STORE                      the address of the job's store; another agent's store may be of another round
//   MUSTER_EXEC_SOCKET, _TOKEN, _FD   commands on other nodes (--allow_exec) reach their agent, which ends them in time
//   MUSTER_RING_PASSED                ms-ring reports that the links are good
//   MUSTER_TLS_HAND_OVER_FD           ms-ring gets the agent's certificate
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

constexpr char kOfCommands[] = "commands on other nodes need it to reach their round's agent";
constexpr char kOfRing[] = "the check of the ring needs it";
constexpr Relied kReliedOn[] = {
    {"MUSTER_START", "a later start of this node needs it to find and end processes that this one leaves"},
    {"MUSTER_GIVEN", "a job inside the process needs it to know which values the user has not set"},
    {"MS_PROGRESS_FILE", "--progress_timeout needs it to notice that a process hangs"},
    {"MUSTER_STORE", "a process needs it to reach the store of its own round"},
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
      "Sets a variable of the processes, in place of any other value. {rank} and similar placeholders in it are filled "
      "in. May be repeated.";
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
