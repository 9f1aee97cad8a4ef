// Looks up settings by name, and guesses which name a misspelt one stands for. Pure; used by load.cc.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/settings/settings.h"

namespace muster {

// Returns "worker_num" for "worker-num", because dashes and underscores mean the same in flags.
std::string NormalFlag(std::string flag);

// True for --config, --help, --help-all and --version: flags that every program has, and that can't be set in the
// environment or a file.
bool IsBuiltInFlag(const std::string& flag);

class NameIndex {
 public:
  // The table must outlive the index and must not change.
  explicit NameIndex(const SettingsTable& table);

  // Finds a setting by its flag or alias, in the form of NormalFlag. Null if there is none.
  const Setting* FindFlag(const std::string& flag) const;
  // Finds a setting by environment variable.
  const Setting* FindVariable(const std::string& name) const;
  // Returns why this flag must not be used; null if it may be used.
  const std::string* FindForbidden(const std::string& flag) const;

  // Returns the flag that `flag` resembles most: one that is not hidden, or a built-in one (--help, --config, …).
  std::optional<std::string> ResemblingFlag(const std::string& flag) const;
  // Returns the variable that `name` is most likely a misspelling of: at most 1 letter off, or 2 for names of 8 letters
  // and more. nullopt if there is none, and for MindSpore's known variables.
  std::optional<std::string> ResemblingVariable(const std::string& name) const;

 private:
  std::map<std::string, const Setting*> flags_;
  std::map<std::string, const Setting*> variables_;
  std::map<std::string, std::string> forbidden_;
};

// Returns how many steps turn one text into the other. A step inserts, deletes or replaces a letter, or swaps two
// neighbours.
size_t EditDistance(const std::string& a, const std::string& b);

}  // namespace muster
