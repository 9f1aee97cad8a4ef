#include "worker_agent/settings/env_setting.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "common/settings/syntax.h"

namespace muster::agent {

void AddEnv(SettingsTable& table, std::map<std::string, std::string>* env) {
  Setting setting;
  setting.flag = "env";
  setting.value_name = "NAME=VALUE";
  setting.help =
      "Sets a variable for the processes, above all else; {rank} and the like are filled in. May be repeated.";
  setting.is_repeated = true;
  setting.parse = [env](const std::string& text) -> absl::Status {
    const auto variable = ParseVariable(text);
    if (variable.ok()) (*env)[variable->first] = variable->second;
    return variable.status();
  };
  setting.show = [env] { return absl::StrJoin(*env, ", ", absl::PairFormatter("=")); };
  table.Add(std::move(setting));
}

}  // namespace muster::agent
