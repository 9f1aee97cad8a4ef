// The progress of the running processes, and how long each has stood still.
//
// It has two sources: the file of a process (ProgressMade), and the rules for its output (OutputMatched). Both are
// progress. Once the file has shown any, the step number is the file's: the output may count its steps differently.
//
// It reports only processes that have made progress at least once: of the others nothing is known. Of all processes it
// also reports their activity, once after each look.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/processes.h"

namespace muster::agent {

class Progress {
 public:
  void Made(const ProcessKey& id, std::optional<uint64_t> step, MonotonicTime now);
  void Matched(const OutputMatched& event, MonotonicTime now);
  void Saw(const ActivitySeen& event);
  void Forget(const ProcessKey& id) {
    last_.erase(id);
    activity_.erase(id);
  }

  // Does not count this time as standing still, for any process: the agent did not run during it, and maybe the
  // processes did not either.
  void Excuse(absl::Duration time);

  bool HasAny() const { return !last_.empty(); }
  bool HasActivityNews() const { return has_activity_news_ && !activity_.empty(); }
  // Adds the progress to a report: at most kMaxSlotsPerNode entries, each of at most kMaxBytesPerSlot.
  void Fill(v1::Report& report, MonotonicTime now) const;
  static constexpr size_t kMaxBytesPerSlot = 96;  // with its activity
  // Adds the activity that no report has carried yet; ActivitySent: one has.
  void FillActivity(v1::Report& report, MonotonicTime now) const;
  void ActivitySent() { has_activity_news_ = false; }
  // Returns a serialised report with the progress and the activity, for SendHeartbeat. Empty if there is neither, or
  // if they are longer than kMaxProgressBytes: then they go over the stream.
  std::string ForDatagram(MonotonicTime now) const;

  // Aborts if it holds a process that does not run.
  void CheckInvariants(const Processes& processes) const;

 private:
  struct Last {
    bool has_progress = false;
    bool has_file = false;  // the file has shown progress
    std::optional<uint64_t> step;
    MonotonicTime changed;
    uint64_t changes = 0;    // of the output
    uint64_t unseen = 0;     // lines of the output
    bool is_shared = false;  // see OutputMatched
  };

  std::map<ProcessKey, Last> last_;
  std::map<ProcessKey, ActivitySeen> activity_;
  bool has_activity_news_ = false;
};

}  // namespace muster::agent
