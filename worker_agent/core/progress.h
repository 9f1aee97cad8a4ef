// The progress of the running processes, and how long each has stood still.
//
// It contains only processes that have written their progress at least once. About the others nothing is known, and
// nothing is reported.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/core/processes.h"

namespace muster::agent {

class Progress {
 public:
  void Made(const ProcessKey& id, std::optional<uint64_t> step, MonotonicTime now);
  void Forget(const ProcessKey& id) { last_.erase(id); }

  // Does not count this time as standing still, for any process: the agent did not run during it, and maybe the
  // processes did not either.
  void Excuse(absl::Duration time);

  bool empty() const { return last_.empty(); }
  // Adds the progress to a report: at most kMaxSlotsPerNode entries, each of at most kMaxBytesPerSlot.
  void Fill(v1::Report& report, MonotonicTime now) const;
  static constexpr size_t kMaxBytesPerSlot = 40;

  // Aborts if it holds a process that does not run.
  void CheckInvariants(const Processes& processes) const;

 private:
  struct Last {
    std::optional<uint64_t> step;
    MonotonicTime changed;
  };

  std::map<ProcessKey, Last> last_;
};

}  // namespace muster::agent
