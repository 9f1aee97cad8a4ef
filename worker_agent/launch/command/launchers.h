// Finds out if a command is itself a launcher (torchrun, mpirun, …). A launcher must be started once for a node or a
// job, not once for each process. This looks behind runners (env, uv run, `bash -c`), and reads shell scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

struct LauncherCommand {
  std::string name;                // for people: "torchrun", "accelerate launch"
  std::vector<std::string> words;  // the launcher and its arguments
  bool is_in_script = false;       // it is in a line of a shell script, which may or may not run
};
// Returns the launcher in the command; nullopt: there is none.
std::optional<LauncherCommand> LauncherIn(const std::vector<std::string>& command);

// Returns the programs that ms-worker itself starts with this command: the program behind all runners; for a shell
// script, the program of its last exec, or all its commands if it has no exec. Empty if the command is a launcher.
std::vector<std::vector<std::string>> TrainingPrograms(const std::vector<std::string>& command);

// True if the command is a launcher that itself serves PyTorch's store at MASTER_ADDR and MASTER_PORT: torchrun, or one
// that is built on it.
bool BringsTorchStore(const std::vector<std::string>& command);

// Checks a command that is started once for each slot (neither --per_node nor --per_job is given). A launcher is an
// error if this node has several slots, since each slot would run a training of its own, and a warning if it has one
// slot. A launcher in a script only causes a warning.
void CheckLauncher(const std::vector<std::string>& command, uint32_t slots, SettingsFindings& findings);

}  // namespace muster::agent
