#include "worker_agent/launch/slot_files.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace muster::agent {

std::string ErrorFile(const std::string& work_folder, uint32_t slot) {
  return absl::StrCat(work_folder, "/error-", slot, ".json");
}

std::string ProgressFile(const std::string& work_folder, uint32_t slot) {
  return absl::StrCat(work_folder, "/progress-", slot);
}

std::string StacksFile(const std::string& work_folder, uint32_t slot) {
  return absl::StrCat(work_folder, "/stacks-", slot);
}

std::string PassedFile(const std::string& work_folder, uint32_t slot) {
  return absl::StrCat(work_folder, "/passed-", slot);
}

void RemoveProgressAndStacks(const std::string& work_folder, uint32_t slot) {
  std::error_code ignored;
  std::filesystem::remove_all(ProgressFile(work_folder, slot), ignored);
  std::filesystem::remove_all(StacksFile(work_folder, slot), ignored);
}

}  // namespace muster::agent
