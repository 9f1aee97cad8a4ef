// Whether a command is another launcher (torchrun, mpirun, …), which is to be started once for a node or a job, and not
// once for each process. Pure but for ProgramBehind: what can't be told from the command's words alone (a script that
// calls one) is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::agent {

// Its name as people know it ("torchrun", "accelerate launch"); nothing if the command is none. By path, under python,
// and behind env, nice, nohup, exec, `bash -c` and the like as well.
std::optional<std::string> LauncherOf(const std::vector<std::string>& command);

// What a wrapper (env, nice, taskset, `bash -c`, …) or a shell script that ends in exec starts in the end, as far as
// the words tell; the command itself if it is none. A script of more than 64 KiB is none. Reads the script's file.
std::vector<std::string> ProgramBehind(std::vector<std::string> command);

// It hosts PyTorch's store itself, at the address and port that it is given: torchrun and what is built on it.
bool BringsTorchStore(const std::vector<std::string>& command);

// Neither --per_node nor --per_job was given: a launcher is an error where this node has several slots, for several
// trainings would run side by side, and a warning where it has one.
void CheckLauncher(const std::vector<std::string>& command, uint32_t slots, SettingsFindings& findings);

}  // namespace muster::agent
