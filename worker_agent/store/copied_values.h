// The values that an agent has read or changed, bounded as the job's store is. Pure.
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
    uint64_t version = 0;  // the store's, with the answer that told it
    MonotonicTime good_until;
  };

  // Null: there is none, or only one that is too old. Until the next change.
  const Copy* Find(const std::string& key) const;
  std::optional<std::string> ValueOf(const std::string& key) const;

  // Of two answers the one with the higher version tells more: an older one is left out. No value: the key is not
  // there, of which no copy is kept.
  void Keep(const std::string& key, uint64_t version, std::optional<std::string> value, MonotonicTime good_until);
  void Forget(const std::string& key);
  // Those of an earlier version are too old from now on.
  void Outdate(uint64_t version) { at_least_ = version; }

 private:
  std::map<std::string, Copy> copies_;
  size_t bytes_ = 0;
  uint64_t at_least_ = 0;  // version of what is not too old
};

}  // namespace muster::agent
