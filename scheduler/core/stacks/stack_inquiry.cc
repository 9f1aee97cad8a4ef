#include "scheduler/core/stacks/stack_inquiry.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "scheduler/core/facts/progress.h"
#include "scheduler/core/facts/stack_groups.h"
#include "scheduler/core/views/views.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kStacksWait = absl::Seconds(9);  // an admin call is answered within 10 s
constexpr size_t kMaxGatherings = 16;
constexpr absl::Duration kStallWait =
    absl::Seconds(5);  // above what py-spy may take for a process; as a rule they take less than a second
constexpr size_t kMaxGroupLines = 6;
constexpr size_t kFewRanks = 8;  // the number of ranks if the request names none

std::vector<uint32_t> FirstWorkers(const std::vector<Watched>& watched, size_t most) {
  std::vector<uint32_t> ranks;
  for (const Watched& w : watched) {
    if (ranks.size() < most && w.node->record().info.role() == v1::ROLE_WORKER) ranks.push_back(w.rank);
  }
  return ranks;
}

std::vector<uint32_t> FirstRanks(const Run& run, size_t most) {
  std::vector<uint32_t> ranks(std::min<size_t>(run.record().peers.worker_num(), most));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Returns kFewRanks ranks for a request that names none: those at the lowest steps; at equal steps, those that have
// been there longest. If no process shows progress, returns the lowest ranks.
std::vector<uint32_t> FewRanks(const Run& run) {
  std::vector<uint32_t> ranks = FirstWorkers(WatchedProcesses(run), kFewRanks);
  return ranks.empty() ? FirstRanks(run, kFewRanks) : ranks;
}

// Adds the groups, and the stack of the rank that the cause names, as the last lines of the cause.
void AddStacks(const std::map<uint32_t, v1::RankStack>& stacks, const std::vector<StackGroup>& groups,
               v1::Cause& cause) {
  if (groups.size() > 1) {
    for (std::string& line : GroupLines(groups, kMaxGroupLines)) cause.add_last_lines(std::move(line));
  }
  const auto named = stacks.find(cause.rank());
  if (cause.role() != v1::ROLE_WORKER || named == stacks.end()) return;
  const v1::RankStack& stack = named->second;
  const std::string text = stack.stack().text().substr(MainThread(stack.stack().text()));
  if (text.empty()) return;
  cause.add_last_lines(absl::StrCat("stack of rank ", stack.rank(), ", by ", stack.stack().method(), ":"));
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    if (cause.last_lines_size() == static_cast<int>(kMaxLastLines)) break;
    CutText(*cause.add_last_lines() = std::string(line), kMaxLastLineBytes);
  }
}

}  // namespace

void StackInquiry::On(const StacksRequested& event) {
  const v1::StacksRequest& request = event.request;
  const auto refuse = [&](absl::Status status) {
    context_.effects.push_back(Answer{event.query, std::move(status), v1::StacksReply()});
  };
  Run* run = FindNamed(context_.state, request.job_id(), request.run());
  if (run == nullptr) return refuse(NoSuchRun(request.job_id(), request.run()));
  if (run->record().phase != v1::RUN_PHASE_RUNNING) {
    return refuse(
        absl::FailedPreconditionError(absl::StrCat("run ", run->record().number, " of job ", run->record().job_id,
                                                   " is ", RunPhaseName(run->record()), ": no processes run")));
  }
  if (gatherings_.size() >= kMaxGatherings) {
    return refuse(absl::ResourceExhaustedError("the stacks of other requests are still being gathered: try again"));
  }
  std::vector<uint32_t> ranks(request.ranks().begin(), request.ranks().end());
  for (const uint32_t rank : ranks) {
    if (rank >= run->record().peers.worker_num()) {
      return refuse(
          absl::InvalidArgumentError(absl::StrCat("there is no rank ", rank, " in job ", run->record().job_id,
                                                  ": its workers are 0 to ", run->record().peers.worker_num() - 1)));
    }
  }
  if (ranks.empty()) ranks = FewRanks(*run);
  Gather(*run, ranks, event.query, Stall::kBetweenSteps);
}

void StackInquiry::LookIntoStall(Run& run, Stall stall) {
  if (run.is_looking_into_stall) return;
  run.is_looking_into_stall = true;
  // Also asks ranks that show no progress: any may be the one for which the others wait.
  std::vector<uint32_t> ranks =
      FirstWorkers(StandingStill(run, context_.now.monotonic, context_.HeartbeatInterval()), kMaxStackRanks / 2);
  for (const uint32_t rank : FirstRanks(run, kMaxStackRanks)) {
    const bool is_there = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    if (ranks.size() < kMaxStackRanks && !is_there) ranks.push_back(rank);
  }
  Gather(run, ranks, 0, stall);
}

// Asks the agents of these workers for stacks. `query` is the call to answer; 0: the stacks are to describe a stall.
void StackInquiry::Gather(Run& run, const std::vector<uint32_t>& ranks, QueryId query, Stall stall) {
  const uint64_t number = ++context_.last_handle;
  Gathering& gathering = gatherings_[number];
  gathering.query = query;
  gathering.stall = stall;
  gathering.job_id = run.record().job_id;
  gathering.run = run.record().number;
  gathering.round = run.record().round;
  gathering.deadline = context_.now.monotonic + (query == 0 ? kStallWait : kStacksWait);
  const std::set<uint32_t> wanted(ranks.begin(), ranks.end());
  for (auto& [id, node] : run.nodes) {
    if (node.record().info.role() != v1::ROLE_WORKER || node.record().is_spare) continue;
    Message message = context_.NewMessage();
    v1::StackQuery& ask = *message->mutable_stack_query();
    ask.set_query(number);
    for (uint32_t slot = 0; slot < node.record().slots.size(); ++slot) {
      if (!wanted.contains(node.record().slots[slot].rank)) continue;
      ask.add_slots(slot);
      v1::RankStack& stack = gathering.stacks[node.record().slots[slot].rank];
      stack.set_rank(node.record().slots[slot].rank);
      stack.set_node_id(node.record().id);
      stack.set_host_name(node.record().info.host_name());
      stack.mutable_stack()->set_slot(slot);
      stack.mutable_stack()->set_pid(node.record().slots[slot].pid);
      stack.mutable_stack()->set_note(node.stream != 0 ? "its agent has not answered in time"
                                                       : "its agent is not connected");
    }
    if (ask.slots().empty() || node.stream == 0) continue;
    gathering.awaited.insert(node.record().id);
    context_.SendTo(node.stream, std::move(message));
  }
  if (gathering.awaited.empty()) return Finish(number);
  context_.deadlines.Set(number, gathering.deadline);
}

void StackInquiry::On(const StackTracesReceived& event) {
  const auto it = gatherings_.find(event.traces.query());
  const auto attached = context_.streams.find(event.stream);
  if (it == gatherings_.end() || attached == context_.streams.end() || attached->second.is_challenger) return;
  Gathering& gathering = it->second;
  const auto [run, node, is_challenger, heartbeat_seq] = attached->second;
  if (run->record().job_id != gathering.job_id || run->record().number != gathering.run ||
      gathering.awaited.erase(node->record().id) == 0)
    return;
  for (auto& [rank, wanted] : gathering.stacks) {
    if (wanted.node_id() != node->record().id) continue;
    const auto stack =
        std::find_if(event.traces.stacks().begin(), event.traces.stacks().end(),
                     [slot = wanted.stack().slot()](const v1::SlotStack& s) { return s.slot() == slot; });
    if (stack != event.traces.stacks().end()) *wanted.mutable_stack() = *stack;
  }
  if (gathering.awaited.empty()) Finish(it->first);
}

// Ends the inquiry: answers the call, or acts on the stall for which the stacks were gathered.
void StackInquiry::Finish(uint64_t number) {
  const Gathering gathering = std::move(gatherings_.at(number));
  gatherings_.erase(number);
  context_.deadlines.Set(number, MonotonicTime::Never());
  if (gathering.query == 0) return ActOnStall(gathering);
  v1::StacksReply reply;
  reply.set_run(gathering.run);
  reply.set_round(gathering.round);
  for (const auto& [rank, stack] : gathering.stacks) *reply.add_ranks() = stack;
  context_.effects.push_back(Answer{gathering.query, absl::OkStatus(), std::move(reply)});
}

// Reports the stall, or gives up the round or the run, unless the job has moved on meanwhile.
void StackInquiry::ActOnStall(const Gathering& gathering) {
  Run* run = context_.state.FindRun(gathering.job_id, gathering.run);
  if (run == nullptr) return;
  run->is_looking_into_stall = false;
  if (run->record().phase != v1::RUN_PHASE_RUNNING || run->record().round != gathering.round) return;
  const MonotonicTime now = context_.now.monotonic;
  const bool is_over = gathering.stall == Stall::kBetweenSteps
                           ? StandingStill(*run, now, context_.HeartbeatInterval()).empty()
                           : !LacksFirstProgress(*run);
  if (is_over) return;
  const std::vector<StackGroup> groups = GroupStacks(gathering.stacks);
  CauseCandidate candidate = gathering.stall == Stall::kBetweenSteps
                                 ? DescribeStall(*run, now, context_.HeartbeatInterval(), groups)
                                 : DescribeFirstStall(*run, now, groups);
  AddStacks(gathering.stacks, groups, candidate.cause);
  if (run->OnlyReportsStalls()) {
    run->stall = candidate.cause;
    return context_.Warn(*run, "stalled", candidate.cause.text());
  }
  lifecycle_.Disturb(*run, std::move(candidate));
  lifecycle_.TryNextRound(*run);
  lifecycle_.FixCauseIfKnown(*run);
}

}  // namespace muster::scheduler
