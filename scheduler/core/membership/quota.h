// Places that many parties share: none of them can take all. The last eighth is for those that hold less than what is
// left of it: one party alone may have seven eighths, the next half of the rest, and so on. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"

namespace muster::scheduler {

class Quota {
 public:
  explicit Quota(size_t most) : most_(most) {}

  size_t most() const { return most_; }
  size_t taken() const { return taken_; }
  size_t HeldBy(const std::string& party) const;
  // Whether it may take one more.
  bool HasRoomFor(const std::string& party) const;

  void Take(const std::string& party);
  // It holds one.
  void Return(const std::string& party);

  bool operator==(const Quota&) const = default;

 private:
  size_t most_;
  size_t taken_ = 0;
  absl::flat_hash_map<std::string, size_t> held_;  // by whoever holds any
};

}  // namespace muster::scheduler
