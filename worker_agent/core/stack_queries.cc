#include "worker_agent/core/stack_queries.h"

#include <set>
#include <utility>

#include "common/base/check.h"
#include "common/base/limits.h"

namespace muster::agent {

void StackQueries::OnQuery(const v1::StackQuery& query, Effects& out) {
  waiting_ = query;
  waiting_for_ = connector_.connect_seq();
  GatherNext(out);
}

void StackQueries::GatherNext(Effects& out) {
  if (gathering_for_ != 0 || !waiting_) return;
  const v1::StackQuery query = *std::exchange(waiting_, std::nullopt);
  if (waiting_for_ != connector_.connect_seq() || !connector_.IsOpen()) return;
  gathering_for_ = waiting_for_;
  GatherStacks gather;
  gather.query = query.query();
  for (const uint32_t slot : std::set<uint32_t>(query.slots().begin(), query.slots().end())) {
    if (slot >= slots_ || gather.processes.size() == kMaxStackRanks) break;
    gather.processes.push_back({slot, processes_.PidOf(slot)});
  }
  out.push_back(std::move(gather));
}

bool StackQueries::OnGathered() {
  return std::exchange(gathering_for_, 0) == connector_.connect_seq() && connector_.IsOpen();
}

void StackQueries::OnStreamReplaced(uint64_t from, uint64_t to) {
  if (gathering_for_ == from) gathering_for_ = to;
  if (waiting_for_ == from) waiting_for_ = to;
}

void StackQueries::CheckInvariants() const {
  MUSTER_CHECK(!waiting_ || gathering_for_ != 0, "a stack query waits only for an earlier one");
}

}  // namespace muster::agent
