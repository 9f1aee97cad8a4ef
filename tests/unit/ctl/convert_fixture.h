// The shared parts of the tests of `ms-ctl convert`.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/command/shell_words.h"
#include "ctl/convert/convert.h"
#include "ctl/convert/hosts.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::ctl {

// Returns the errors that ms-worker's own parser finds in a line. Shell variables are set to 2, their products to 64.
inline std::vector<std::string> WrongWith(const std::string& line) {
  std::vector<std::string> wrong;
  for (const ShellCommand& command : ShellCommands(line)) {
    const auto program = std::find(command.words.begin(), command.words.end(), "ms-worker");
    if (program == command.words.end()) continue;
    std::vector<std::string> args(program + 1, command.words.end());
    const auto end = std::find(args.begin(), args.end(), "--");
    for (auto arg = args.begin(); arg != end; ++arg) {
      if (arg->find_first_of("$`") == 0) *arg = absl::StartsWith(*arg, "$((") ? "64" : "2";
    }
    agent::AgentSettings settings;
    SettingsTable table = agent::AgentSettingsTable(settings);
    LoadResult loaded = LoadSettings(table, args, {});
    settings.command = loaded.command;
    if (settings.command.empty()) wrong.emplace_back("no command");
    wrong.insert(wrong.end(), loaded.positional.begin(), loaded.positional.end());
    const SettingsFindings more = agent::CheckAgentSettings(settings);
    wrong.insert(wrong.end(), loaded.findings.errors.begin(), loaded.findings.errors.end());
    wrong.insert(wrong.end(), more.errors.begin(), more.errors.end());
    const bool is_of_one = settings.standalone || settings.worker_num.value_or(0) <= 1;
    if (!is_of_one && IsEachMachineItself(settings.sched_host)) wrong.push_back("several: " + settings.sched_host);
  }
  return wrong;
}

inline Converted Of(const std::vector<std::string>& words) {
  const Converted converted = Convert(words);
  EXPECT_THAT(WrongWith(converted.line), testing::IsEmpty()) << converted.line;
  EXPECT_NE(converted.line.empty(), converted.error.empty()) << converted.line << converted.error;
  return converted;
}

inline Converted Of(const std::string& line) { return Of(std::vector<std::string>(absl::StrSplit(line, ' '))); }

class ConvertFiles : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + "/convert_" + name;
    std::ofstream(path) << text;
    return path;
  }
};

}  // namespace muster::ctl
