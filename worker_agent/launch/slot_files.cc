#include "worker_agent/launch/slot_files.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
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
  // muster_training.py writes to a file "<progress file>.…" and renames it. A process that was killed in between has
  // left that file.
  const std::string half_written = ProgressFile(work_folder, slot) + ".";
  std::vector<std::filesystem::path> left;
  for (std::filesystem::directory_iterator entry(work_folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (absl::StartsWith(entry->path().native(), half_written)) left.push_back(entry->path());
  }
  for (const std::filesystem::path& path : left) std::filesystem::remove_all(path, ignored);
}

}  // namespace muster::agent
