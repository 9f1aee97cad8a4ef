// --from: the settings that a platform's environment gives where nobody else does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/settings/settings.h"
#include "worker_agent/platform/platform.h"

namespace muster::agent {

struct TakingOptions {
  bool with_scheduler = false;            // the scheduler's address is taken as well
  std::function<uint32_t()> count_slots;  // of this node, once local_worker_num is settled; 0: not known
};

// Stores into the table's variables what they have no value for, and names the variable as its source. What is set
// already stays; where it differs that is told. Returns what was taken and what stayed, a line for the log each.
std::vector<std::string> TakeFromPlatform(const PlatformFacts& facts, const SettingsTable& table,
                                          const TakingOptions& options, LoadResult& loaded);

}  // namespace muster::agent
