// The joins that were refused lately, for `ms-ctl nodes --missing`: a missing node is often among them. A crash loses
// them, and no decision depends on them.
#pragma once

#include <deque>
#include <string>

#include "common/base/clock.h"
#include "muster/v1/admin.pb.h"
#include "scheduler/core/state/events.h"

namespace muster::scheduler {

class RecentRefusals {
 public:
  static constexpr size_t kMost = 64;    // kept for all jobs together; the oldest are dropped
  static constexpr int kMaxOfAJob = 32;  // the most in one answer

  // Adds a refusal. If the same node was refused for the same reason before, it only raises the count of that entry.
  void Note(const JoinRequested& event, const v1::Refusal& refusal, MonotonicTime now);
  // Adds the refusals of the job, the latest first.
  void AddTo(const std::string& job_id, MonotonicTime now, v1::MissingNodes& missing) const;

 private:
  struct Entry {
    std::string job_id;
    v1::RefusedJoin refused;
    MonotonicTime when;
  };
  std::deque<Entry> entries_;  // the latest first
};

}  // namespace muster::scheduler
