// The key of a process, as the core, the keeper and the runtime use it.
#pragma once

#include <compare>
#include <cstdint>

namespace muster::agent {

// One start of one slot's process.
struct ProcessKey {
  uint32_t slot = 0;
  uint32_t round = 0;
  uint32_t attempt = 0;
  auto operator<=>(const ProcessKey&) const = default;
};

}  // namespace muster::agent
