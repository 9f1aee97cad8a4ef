// Asks agents for the stacks of processes and gathers them, for `ms-ctl stacks` and for a run that stands still.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/context/context.h"
#include "scheduler/core/lifecycle/lifecycle.h"

namespace muster::scheduler {

class StackInquiry {
 public:
  StackInquiry(Context& context, Lifecycle& lifecycle) : context_(context), lifecycle_(lifecycle) {}

  void On(const StacksRequested& event);
  void On(const StackTracesReceived& event);

  // Gathers the stacks of a run that stands still. Then reports the stall or gives up the round, unless the run has
  // moved on meanwhile. Does nothing while an earlier call still gathers stacks of this run.
  enum class Stall { kBetweenSteps, kBeforeTheFirst };
  void LookIntoStall(Run& run, Stall stall);
  // True if the handle is that of an inquiry's deadline.
  bool IsUnderWay(uint64_t handle) const { return gatherings_.contains(handle); }
  // Ends the inquiry with the stacks that have come so far.
  void Finish(uint64_t handle);

 private:
  // An inquiry that waits for the stacks from agents.
  struct Gathering {
    QueryId query = 0;  // the call of ms-ctl; 0: LookIntoStall has asked
    Stall stall = Stall::kBetweenSteps;
    std::string job_id;
    uint64_t run = 0;
    uint32_t round = 0;
    MonotonicTime deadline;
    std::set<std::string> awaited;             // the nodes that have not answered yet
    std::map<uint32_t, v1::RankStack> stacks;  // by rank; the stacks so far, and notes for the missing ones
  };

  void Gather(Run& run, const std::vector<uint32_t>& ranks, QueryId query, Stall stall);
  void ActOnStall(const Gathering& gathering);

  Context& context_;
  Lifecycle& lifecycle_;
  std::map<uint64_t, Gathering> gatherings_;  // by the number that the agents return with their answers
};

}  // namespace muster::scheduler
