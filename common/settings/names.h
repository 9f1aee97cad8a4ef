// Looks up settings by name, and guesses what a misspelt name meant. Pure; used by load.cc.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/settings/settings.h"

namespace muster {

// Turns "worker-num" into "worker_num": dashes and underscores mean the same.
std::string NormalFlag(std::string flag);

// True for --config, --help, --help-all and --version: flags of every program that no other source can set.
bool IsBuiltInFlag(const std::string& flag);

class NameIndex {
 public:
  // The table must outlive the index and must not change.
  explicit NameIndex(const SettingsTable& table);

  // Finds a setting by flag or alias, normalised; null if there is none.
  const Setting* FindFlag(const std::string& flag) const;
  // Finds a setting by environment variable.
  const Setting* FindVariable(const std::string& name) const;
  // Returns the reason why this flag must not be used; null if it may.
  const std::string* FindForbidden(const std::string& flag) const;

  // Returns the flag (not hidden, or a built-in one) that `flag` most resembles.
  std::optional<std::string> ResemblingFlag(const std::string& flag) const;
  // Returns the variable that `name` is a near miss of: edit distance 1, or 2 for names of 8 letters and more. nullopt
  // for MindSpore's known variables.
  std::optional<std::string> ResemblingVariable(const std::string& name) const;

 private:
  std::map<std::string, const Setting*> flags_;
  std::map<std::string, const Setting*> variables_;
  std::map<std::string, std::string> forbidden_;
};

// Returns how many insertions, deletions, replacements and swaps of neighbours turn one into the other.
size_t EditDistance(const std::string& a, const std::string& b);

}  // namespace muster
