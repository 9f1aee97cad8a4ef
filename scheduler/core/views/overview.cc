#include "scheduler/core/views/overview.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/views/views.h"

namespace muster::scheduler {
namespace {

RunOverview OverviewOf(const Run& run, v1::RunStatus status, MonotonicTime now) {
  RunOverview overview;
  for (const auto& [id, node] : run.nodes) {
    ++overview.nodes[NodeStateName(node)];
    overview.draining_nodes += node.record().draining_reason.empty() ? 0 : 1;
    for (const SlotState& slot : node.record().slots) {
      if (slot.phase != SlotState::Phase::kIdle) ++overview.ranks[SlotPhaseName(slot.phase)];
    }
  }
  const auto recent = std::count_if(run.restarts.begin(), run.restarts.end(),
                                    [now](MonotonicTime when) { return now - when < kBudgetWindow; });
  const uint32_t most = run.Recovers() ? run.MaxRestarts() : 0;
  overview.restarts_left = most - std::min(most, static_cast<uint32_t>(recent));
  overview.store_bytes = run.record().store.bytes();
  overview.status = std::move(status);
  return overview;
}

}  // namespace

std::shared_ptr<const Overview> OverviewOf(const Context& context) {
  auto overview = std::make_shared<Overview>();
  overview->term = context.state.record().term;
  overview->is_draining = context.is_draining;
  overview->measures = context.measures;
  Answer status = AnswerQuery(context, {.query = 0, .request = v1::StatusRequest()});
  for (v1::RunStatus& run : *std::get<v1::StatusReply>(status.reply).mutable_runs()) {
    const Run* found = context.state.FindRun(run.job_id(), run.run());
    if (found != nullptr) overview->runs.push_back(OverviewOf(*found, std::move(run), context.now.monotonic));
  }
  return overview;
}

}  // namespace muster::scheduler
