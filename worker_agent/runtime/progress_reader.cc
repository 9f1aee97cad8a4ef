#include "worker_agent/runtime/progress_reader.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "common/sys/file_io.h"
#include "worker_agent/launch/slot_files.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxProgressBytes = 64;
constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

std::optional<uint64_t> ParseStep(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  uint64_t step = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), step);
  if (result.ec != std::errc()) return std::nullopt;
  return step;
}

}  // namespace

void ProgressReader::Watch(const ProcessKey& process) { watched_.emplace(process, Seen{}); }

void ProgressReader::Forget(const ProcessKey& process) { watched_.erase(process); }

std::vector<ProgressMade> ProgressReader::Poll() {
  std::vector<ProgressMade> made;
  for (auto& [process, seen] : watched_) {
    if (!Look(ProgressFile(work_folder_, process.slot), seen)) continue;
    made.push_back({process, seen.step});
  }
  return made;
}

bool ProgressReader::Look(const std::string& path, Seen& seen) {
  struct stat info {};
  const UniqueFd fd = OpenRegularFile(path, info);
  if (!fd.is_open()) return false;
  char bytes[kMaxProgressBytes];
  const ssize_t n = read(fd.get(), bytes, sizeof bytes);
  if (n < 0) return false;
  if (const auto step = ParseStep({bytes, static_cast<size_t>(n)})) {
    const bool is_new = step != seen.step;
    seen.step = step;
    return is_new;
  }
  if (seen.step) return false;
  const int64_t modified_ns = info.st_mtim.tv_sec * kNanosecondsPerSecond + info.st_mtim.tv_nsec;
  const bool is_new = !seen.has_file || modified_ns != seen.modified_ns;
  seen.has_file = true;
  seen.modified_ns = modified_ns;
  return is_new;
}

}  // namespace muster::agent
