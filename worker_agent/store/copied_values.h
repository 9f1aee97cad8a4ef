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
    uint64_t version = 0;  // the store's, from the same answer
    MonotonicTime good_until;
  };

  // Returns null if there is none, or only one that is too old. Good until the next change.
  const Copy* Find(const std::string& key) const;
  std::optional<std::string> ValueOf(const std::string& key) const;

  // Keeps an answer; of two answers only that with the higher version. No value: the key is not there, and no copy is
  // kept.
  void Keep(const std::string& key, uint64_t version, std::optional<std::string> value, MonotonicTime good_until);
  void Forget(const std::string& key);
  // Copies of an earlier version are too old from now on.
  void Outdate(uint64_t version) { at_least_ = version; }

 private:
  std::map<std::string, Copy> copies_;
  size_t bytes_ = 0;
  uint64_t at_least_ = 0;  // the least version that is not too old
};

}  // namespace muster::agent
