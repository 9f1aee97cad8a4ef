// The files of the work folder that belong to one slot and start over with each of its processes.
//
// A process writes them, so nothing about their content or kind is to be trusted.
#pragma once

#include <cstdint>
#include <string>

namespace muster::agent {

std::string ErrorFile(const std::string& work_folder, uint32_t slot);     // TORCHELASTIC_ERROR_FILE
std::string ProgressFile(const std::string& work_folder, uint32_t slot);  // MS_PROGRESS_FILE
std::string StacksFile(const std::string& work_folder, uint32_t slot);    // MS_STACKS_FILE
std::string PassedFile(const std::string& work_folder, uint32_t slot);    // MUSTER_RING_PASSED, ms-ring's

// Clears the slot before a start: files of a former process must not count for the next one, nor pile up. So files
// beside the progress file with its name and a dot go, too; also a folder; a symbolic link is removed, not followed.
// (The keeper removes the error file.)
void RemoveProgressAndStacks(const std::string& work_folder, uint32_t slot);

}  // namespace muster::agent
