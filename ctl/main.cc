// ms-ctl: shows and steers what a scheduler's jobs do.
#include <cstdio>
#include <string>
#include <vector>

#include "common/exit_codes.h"
#include "common/settings/settings.h"
#include "common/version.h"
#include "ctl/commands.h"
#include "ctl/ctl_settings.h"

int main(int argc, char** argv) {
  muster::ctl::CtlSettings settings;
  muster::SettingsTable table = muster::ctl::CtlSettingsTable(settings);
  const muster::LoadResult loaded =
      muster::LoadSettings(table, std::vector<std::string>(argv + 1, argv + argc), muster::ProcessEnvironment());
  if (loaded.wants_help) {
    std::fputs(muster::HelpText(table).c_str(), stdout);
    return muster::kExitSuccess;
  }
  if (loaded.wants_version) {
    std::printf("ms-ctl %s\n", muster::kVersion);
    return muster::kExitSuccess;
  }
  for (const std::string& error : loaded.findings.errors) std::fprintf(stderr, "ms-ctl: %s\n", error.c_str());
  if (!loaded.findings.errors.empty()) return muster::kExitUsage;
  if (loaded.positional.empty()) {
    std::fprintf(stderr, "ms-ctl: a command is missing: ms-ctl status shows the jobs, ms-ctl --help lists all\n");
    return muster::kExitUsage;
  }
  return muster::ctl::RunCommand(loaded.positional, settings, table);
}
