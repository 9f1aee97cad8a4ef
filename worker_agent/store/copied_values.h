// Copies of the values that an agent has read or changed. The copies have the same limits as the job's store. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/clock.h"

namespace muster::agent {

class CopiedValues {
 public:
  struct Copy {
    std::string value;
    uint64_t version = 0;  // the store's version in the answer with this value
    MonotonicTime good_until;
  };

  // Returns the key's copy; null if there is none, or if it is outdated. The pointer is valid until the next change of
  // this object.
  const Copy* Find(const std::string& key) const;
  std::optional<std::string> ValueOf(const std::string& key) const;

  // Stores the value of an answer as the key's copy, unless the present copy has a higher version. nullopt: the key
  // does not exist, so its copy is removed.
  void Keep(const std::string& key, uint64_t version, std::optional<std::string> value, MonotonicTime good_until);
  void Forget(const std::string& key);
  // Makes copies with a lower version outdated.
  void Outdate(uint64_t version) { at_least_ = version; }

 private:
  std::map<std::string, Copy> copies_;
  size_t bytes_ = 0;
  uint64_t at_least_ = 0;  // copies with a lower version are outdated
};

}  // namespace muster::agent
