// Where processes stand and what they wrote last, for the scheduler that asks.
#include <algorithm>
#include <set>
#include <utility>

#include "common/base/limits.h"
#include "worker_agent/core/impl.h"

namespace muster::agent {

void AgentCore::Impl::OnStackQuery(const v1::StackQuery& query) {
  stacks_.waiting = query;
  stacks_.waiting_for = connector_.connect_seq();
  GatherNext();
}

void AgentCore::Impl::GatherNext() {
  if (stacks_.gathering_for != 0 || !stacks_.waiting) return;
  const v1::StackQuery query = *std::exchange(stacks_.waiting, std::nullopt);
  if (stacks_.waiting_for != connector_.connect_seq() || !connector_.IsOpen()) return;
  stacks_.gathering_for = stacks_.waiting_for;
  GatherStacks gather;
  gather.query = query.query();
  for (const uint32_t slot : std::set<uint32_t>(query.slots().begin(), query.slots().end())) {
    if (slot >= static_cast<uint32_t>(options_.node.slots_size())) break;
    if (gather.processes.size() == kMaxStackRanks) break;
    gather.processes.push_back({slot, processes_.PidOf(slot)});
  }
  Emit(std::move(gather));
}

// The keeper answers at once, so any number may be under way.
void AgentCore::Impl::OnLogQuery(const v1::LogQuery& query) {
  if (query.slot() >= static_cast<uint32_t>(options_.node.slots_size())) return;
  Emit(ReadLog{query.query(),
               connector_.connect_seq(),
               query.slot(),
               std::min(query.lines(), kMaxLogLines),
               {query.slot(), query.round(), query.attempt()},
               query.after()});
}

void AgentCore::Impl::OnEvent(const LogRead& event) {
  if (event.asked_on != connector_.connect_seq() || !connector_.IsOpen()) return;
  v1::AgentMessage message;
  message.mutable_log_lines()->set_query(event.query);
  *message.mutable_log_lines()->mutable_log() = event.log;
  SendToScheduler(std::move(message));
}

// The scheduler still waits for the answer: it knows the node, not the stream.
void AgentCore::Impl::MoveStackQueries(uint64_t from, uint64_t to) {
  if (stacks_.gathering_for == from) stacks_.gathering_for = to;
  if (stacks_.waiting_for == from) stacks_.waiting_for = to;
}

void AgentCore::Impl::OnEvent(const StacksGathered& event) {
  const uint64_t asked_on = std::exchange(stacks_.gathering_for, 0);
  // Who asked on a stream that is gone has given up.
  if (asked_on == connector_.connect_seq() && connector_.IsOpen()) {
    v1::AgentMessage message;
    message.mutable_stack_traces()->set_query(event.query);
    for (const v1::SlotStack& stack : event.stacks) *message.mutable_stack_traces()->add_stacks() = stack;
    SendToScheduler(std::move(message));
  }
  GatherNext();
}

}  // namespace muster::agent
