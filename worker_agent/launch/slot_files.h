// The files of the work folder that belong to one slot and are begun anew with each of its processes.
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

// Before a start: what a former process of the slot wrote must not count for the next one, nor pile up; so what stands
// beside the progress file under its name and a dot goes, too. Whatever it is, a folder as well; a symbolic link is
// removed, not followed. (The keeper removes the error file.)
void RemoveProgressAndStacks(const std::string& work_folder, uint32_t slot);

}  // namespace muster::agent
