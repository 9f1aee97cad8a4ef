// Runs seeds in forked workers, so that an abort (a broken MUSTER_CHECK) or a hang is reported with its seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"

namespace muster::sim {

struct SeedResult {
  uint64_t steps = 0;
  std::string violation;  // empty: no invariant was broken
};

struct Totals {
  uint64_t runs = 0;
  uint64_t steps = 0;
  uint64_t violations = 0;
  absl::Duration took;
};

struct WorkersOptions {
  uint64_t first_seed = 1;
  uint64_t seeds = 200;                            // at least this many
  absl::Duration time = absl::ZeroDuration();      // and at least this long
  absl::Duration most = absl::InfiniteDuration();  // but at most this long
  int workers = 2;
  bool keeps_going = false;  // otherwise the first violation ends the run
};

// Calls `run` in the workers, and `on_violation` in the caller's process, with the seed and the broken invariant.
Totals RunSeeds(const WorkersOptions& options, const std::function<SeedResult(uint64_t seed)>& run,
                const std::function<void(uint64_t seed, const std::string& what)>& on_violation);

}  // namespace muster::sim
