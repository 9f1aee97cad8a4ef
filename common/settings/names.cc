#include "common/settings/names.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace muster {
namespace {

constexpr const char* kBuiltInFlags[] = {"config", "help", "help_all", "version"};

// Variables of MindSpore that no setting uses. They must not be taken for misspelt settings.
constexpr const char* kMindSporePrefixes[] = {
    "MS_ALLOC_",  "MS_ASCEND_", "MS_BUILD_",     "MS_CACHE_",      "MS_COMPILER_", "MS_DATASET_",
    "MS_DEV_",    "MS_DUMP_",   "MS_EXCEPTION_", "MS_GRAPH_",      "MS_INTERNAL_", "MS_JIT_",
    "MS_KERNEL_", "MS_MEMORY_", "MS_RDR_",       "MS_SIMULATION_", "MS_SUBMODULE_"};
constexpr const char* kMindSporeVariables[] = {"MS_CUSTOM_AOT_WHITE_LIST",
                                               "MS_DIAGNOSTIC_DATA_PATH",
                                               "MS_DISABLE_HEARTBEAT",
                                               "MS_ENABLE_FORMAT_MODE",
                                               "MS_ENABLE_GE",
                                               "MS_ENABLE_NUMA",
                                               "MS_ENABLE_TFT",
                                               "MS_FORMAT_MODE",
                                               "MS_HEARTBEAT_RETRY_TIMEOUT",
                                               "MS_JIT",
                                               "MS_OM_PATH",
                                               "MS_RETRY_INTERVAL_LOWER",
                                               "MS_RETRY_INTERVAL_UPPER",
                                               "MS_WORKER_LOG_NAME"};

bool IsMindSpores(const std::string& name) {
  const bool has_prefix = std::any_of(std::begin(kMindSporePrefixes), std::end(kMindSporePrefixes),
                                      [&](const char* prefix) { return absl::StartsWith(name, prefix); });
  return has_prefix || std::find(std::begin(kMindSporeVariables), std::end(kMindSporeVariables), name) !=
                           std::end(kMindSporeVariables);
}

// Remembers the name that is nearest so far; of two equally near names, the first.
class Nearest {
 public:
  explicit Nearest(size_t limit) : limit_(limit) {}
  void Offer(const std::string& name, size_t distance) {
    if (distance > limit_ || (best_ && distance >= best_distance_)) return;
    best_ = name;
    best_distance_ = distance;
  }
  const std::optional<std::string>& best() const { return best_; }

 private:
  const size_t limit_;
  size_t best_distance_ = 0;
  std::optional<std::string> best_;
};

}  // namespace

std::string NormalFlag(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

bool IsBuiltInFlag(const std::string& flag) {
  return std::find(std::begin(kBuiltInFlags), std::end(kBuiltInFlags), NormalFlag(flag)) != std::end(kBuiltInFlags);
}

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

NameIndex::NameIndex(const SettingsTable& table) {
  for (const Setting& setting : table.settings()) {
    flags_[setting.flag] = &setting;
    for (const std::string& alias : setting.aliases) flags_[NormalFlag(alias)] = &setting;
    for (const std::string& name : setting.env) variables_[name] = &setting;
  }
  for (const auto& [flag, why] : table.forbidden()) forbidden_[NormalFlag(flag)] = why;
}

const Setting* NameIndex::FindFlag(const std::string& flag) const {
  const auto found = flags_.find(NormalFlag(flag));
  return found == flags_.end() ? nullptr : found->second;
}

const Setting* NameIndex::FindVariable(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : found->second;
}

const std::string* NameIndex::FindForbidden(const std::string& flag) const {
  const auto found = forbidden_.find(NormalFlag(flag));
  return found == forbidden_.end() ? nullptr : &found->second;
}

std::optional<std::string> NameIndex::ResemblingFlag(const std::string& flag) const {
  const std::string wanted = NormalFlag(flag);
  constexpr size_t kShortestPrefix = 4;
  Nearest nearest(std::min<size_t>(3, wanted.size() / 3));
  const auto offer = [&](const std::string& name) {
    const bool is_abbreviated = wanted.size() >= kShortestPrefix && absl::StartsWith(name, wanted);
    nearest.Offer(name, is_abbreviated ? 1 : EditDistance(wanted, name));
  };
  for (const auto& [name, setting] : flags_) {
    if (!setting->is_hidden) offer(name);
  }
  for (const char* name : kBuiltInFlags) offer(name);
  return nearest.best();
}

std::optional<std::string> NameIndex::ResemblingVariable(const std::string& name) const {
  if (variables_.contains(name) || IsMindSpores(name)) return std::nullopt;
  constexpr size_t kLongName = 8;
  Nearest nearest(name.size() >= kLongName ? 2 : 1);
  for (const auto& [known, setting] : variables_) {
    if (absl::StartsWith(known, "MS_")) nearest.Offer(known, EditDistance(name, known));
  }
  return nearest.best();
}

}  // namespace muster
