// --env NAME=VALUE: a variable for the processes.
#pragma once

#include <map>
#include <string>

#include "common/settings/settings.h"

namespace muster::agent {

void AddEnv(SettingsTable& table, std::map<std::string, std::string>* env);

}  // namespace muster::agent
