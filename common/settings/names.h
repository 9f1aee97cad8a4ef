// Which name means which setting, and what somebody may have meant. Pure; used by load.cc.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/settings/settings.h"

namespace muster {

// "worker-num" → "worker_num": dashes and underscores mean the same.
std::string NormalFlag(std::string flag);

// --config, --help and --version: flags of every program that no other source can set.
bool IsBuiltInFlag(const std::string& flag);

class NameIndex {
 public:
  // The table must outlive the index and may not change.
  explicit NameIndex(const SettingsTable& table);

  // By flag or alias, normalised; null if there is none.
  const Setting* FindFlag(const std::string& flag) const;
  // By environment variable.
  const Setting* FindVariable(const std::string& name) const;
  // The reason why this flag must not be used.
  const std::string* FindForbidden(const std::string& flag) const;

  // The flag (not hidden, or a built-in one) that `flag` most resembles.
  std::optional<std::string> ResemblingFlag(const std::string& flag) const;
  // The variable that `name` is a near miss of: edit distance 1, or 2 for names of 8 letters and more. Nothing for a
  // variable that is known to be MindSpore's.
  std::optional<std::string> ResemblingVariable(const std::string& name) const;

 private:
  std::map<std::string, const Setting*> flags_;
  std::map<std::string, const Setting*> variables_;
  std::map<std::string, std::string> forbidden_;
};

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
size_t EditDistance(const std::string& a, const std::string& b);

}  // namespace muster
