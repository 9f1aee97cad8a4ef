// Finds out if a command is another launcher (torchrun, mpirun, …), which is to be started once for a node or a job,
// and not once for each process. Looks through runners (env, uv run, `bash -c`) and into shell scripts; reads their
// files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

struct LauncherCommand {
  std::string name;                // as people know it: "torchrun", "accelerate launch"
  std::vector<std::string> words;  // the launcher and its arguments
  bool is_in_script = false;       // a line of a shell script, which may or may not run
};
std::optional<LauncherCommand> LauncherIn(const std::vector<std::string>& command);

// Returns the programs that train without another launcher: the one after all runners; of a shell script the program of
// its last exec, else all of its commands. None where a launcher starts them.
std::vector<std::vector<std::string>> TrainingPrograms(const std::vector<std::string>& command);

// True if it hosts PyTorch's store itself, at the address and port that it is given: torchrun and launchers built on
// it.
bool BringsTorchStore(const std::vector<std::string>& command);

// Checks a command without --per_node and --per_job: a launcher is an error where this node has several slots, since
// several trainings would run side by side, and a warning where it has one. In a script it is a warning in both cases.
void CheckLauncher(const std::vector<std::string>& command, uint32_t slots, SettingsFindings& findings);

}  // namespace muster::agent
