// The files of the work folder that belong to one slot. Each process of the slot starts with new ones.
//
// The training process writes them, so the agent trusts neither their content nor that they are regular files.
#pragma once

#include <cstdint>
#include <string>

namespace muster::agent {

std::string ErrorFile(const std::string& work_folder, uint32_t slot);     // TORCHELASTIC_ERROR_FILE
std::string ProgressFile(const std::string& work_folder, uint32_t slot);  // MS_PROGRESS_FILE
std::string StacksFile(const std::string& work_folder, uint32_t slot);    // MS_STACKS_FILE
std::string PassedFile(const std::string& work_folder, uint32_t slot);    // MUSTER_RING_PASSED, written by ms-ring

// Removes what a former process of the slot left, so that it does not count for the next one: the progress file, the
// stacks file, and files named like the progress file with a dot after it (half-written ones). A folder in such a place
// is removed, too; a symbolic link is removed, not followed. The keeper removes the error file.
void RemoveProgressAndStacks(const std::string& work_folder, uint32_t slot);

}  // namespace muster::agent
