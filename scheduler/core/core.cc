#include "scheduler/core/core.h"

#include <algorithm>
#include <utility>

#include "common/base/limits.h"
#include "scheduler/core/context/context.h"
#include "scheduler/core/context/evolve.h"
#include "scheduler/core/context/snapshot.h"
#include "scheduler/core/facts/progress.h"
#include "scheduler/core/invariants.h"
#include "scheduler/core/lifecycle/lifecycle.h"
#include "scheduler/core/lighthouse/lighthouses.h"
#include "scheduler/core/liveness/liveness.h"
#include "scheduler/core/membership/membership.h"
#include "scheduler/core/places/places.h"
#include "scheduler/core/stacks/log_inquiry.h"
#include "scheduler/core/stacks/stack_inquiry.h"
#include "scheduler/core/store/store_service.h"
#include "scheduler/core/views/views.h"

namespace muster::scheduler {
namespace {

constexpr size_t kFewEffects = 4;  // enough for most events, also for a join

}  // namespace

// The core's parts, and which of them handles which event.
class Core::Impl {
 public:
  Impl(CoreOptions options, std::string cluster_id) : context_(std::move(options), std::move(cluster_id)) {}

  void Recover(const v1::Record& record) { Evolve(context_.state, record); }
  LaterSnapshot TakeSnapshotLater() const;
  Effects Start(Now now);
  Effects Apply(const Event& event, Now now);
  MonotonicTime NextDeadline() const { return context_.deadlines.Next(); }
  void CheckInvariants() const { scheduler::CheckInvariants(context_, places_); }
  const State& state() const { return context_.state; }

 private:
  void On(const JoinRequested& event) { membership_.On(event); }
  void On(const ReportReceived& event) { liveness_.On(event); }
  void On(const HeartbeatReceived& event) { liveness_.On(event); }
  void On(const ProbeAnswered& event) { liveness_.On(event); }
  void On(const StreamClosed& event) { liveness_.On(event); }
  void On(const LastReportReceived& event) { liveness_.On(event); }
  void On(const Tick& event) { liveness_.On(event); }
  void On(const LoopWasLate& event) { liveness_.On(event); }
  void On(const SteerRequested& event) { lifecycle_.On(event); }
  void On(const StopRequested& event) { lifecycle_.On(event); }
  void On(const DrainRequested& event) { lifecycle_.On(event); }
  void On(const StacksRequested& event) { stacks_.On(event); }
  void On(const StackTracesReceived& event) { stacks_.On(event); }
  void On(const LogsRequested& event) { logs_.On(event); }
  void On(const LogLinesReceived& event) { logs_.On(event); }
  void On(const StoreRequested& event) {
    if (const auto* report = std::get_if<v1::ReplicasReport>(&event.operation)) {
      return lighthouses_.On(event.query, *report, event.identity);
    }
    store_.On(event);
  }
  void On(const QueryReceived& event) {
    Answer answer = AnswerQuery(context_, event);
    const auto* request = std::get_if<v1::StatusRequest>(&event.request);
    if (request != nullptr && answer.status.ok()) {
      lighthouses_.Describe(request->job_id(), std::get<v1::StatusReply>(answer.reply));
    }
    context_.effects.push_back(std::move(answer));
  }

  void Resume(Run& run);
  void Resume(Run& run, Node& node);

  Context context_;
  Places places_{context_};
  StoreService store_{context_};
  Lifecycle lifecycle_{context_, places_, store_};
  StackInquiry stacks_{context_, lifecycle_};
  LogInquiry logs_{context_};
  Lighthouses lighthouses_{context_};
  Membership membership_{context_, places_, lifecycle_};
  Liveness liveness_{context_, places_, store_, lifecycle_, stacks_, logs_, lighthouses_, membership_};
};

Core::Core(CoreOptions options, std::string cluster_id)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(cluster_id))) {}
Core::~Core() = default;
void Core::Recover(const v1::Record& record) { impl_->Recover(record); }
absl::Status Core::CheckRecovered() const { return scheduler::CheckRecovered(impl_->state()); }
v1::Record Core::TakeSnapshot() const { return impl_->TakeSnapshotLater().make(); }
Core::LaterSnapshot Core::TakeSnapshotLater() const { return impl_->TakeSnapshotLater(); }
Effects Core::Start(Now now) { return impl_->Start(now); }
Effects Core::Apply(const Event& event, Now now) { return impl_->Apply(event, now); }
MonotonicTime Core::NextDeadline() const { return impl_->NextDeadline(); }
void Core::CheckInvariants() const { impl_->CheckInvariants(); }
std::string Core::DebugState() const { return DebugText(impl_->state()); }

Core::LaterSnapshot Core::Impl::TakeSnapshotLater() const {
  const auto draft = std::make_shared<SnapshotDraft>(DraftSnapshot(context_.state));
  return {[draft, record = context_.NewRecord()]() mutable {
            *record.mutable_snapshot() = Complete(std::move(*draft));
            return std::move(record);
          },
          draft->snapshot.ByteSizeLong() + draft->store_bytes};
}

Effects Core::Impl::Start(Now now) {
  context_.now = context_.started = now;
  context_.effects.clear();
  if (context_.state.record().term == 0) {
    v1::Record founded = context_.NewRecord();
    founded.mutable_cluster_founded()->set_cluster_id(context_.state.record().cluster_id);
    context_.Write(std::move(founded));
  }
  v1::Record term = context_.NewRecord();
  term.mutable_term_begun()->set_term(context_.state.record().term + 1);
  context_.Write(std::move(term));
  for (auto& [job_id, job] : context_.state.jobs) {
    for (auto& [number, run] : job.runs) {
      Resume(run);
      if (run.record().peer_list != nullptr && !run.HasEnded()) {
        context_.effects.push_back(PublishPeers{job_id, number, run.record().round, run.record().peer_list});
      }
      run.is_settled = run.HasEnded();  // if it ended before this start, nothing waits for it to settle
      if (context_.options.is_once && !run.HasEnded()) context_.once_job = job_id;
    }
  }
  if (context_.options.is_once && !context_.once_job) {
    context_.once_handle = ++context_.last_handle;
    context_.once_deadline = context_.now.monotonic + context_.TopoTimeout(context_.options.own.rules);
    context_.deadlines.Set(context_.once_handle, context_.once_deadline);
  }
  return std::exchange(context_.effects, {});
}

// After a crash every node counts as disconnected and every deadline restarts in full.
void Core::Impl::Resume(Run& run) {
  context_.GiveHandle(run);
  // `opened` may come from the wall clock, because it affects only the ages and durations that people see.
  run.opened = context_.now.monotonic -
               std::max(absl::Milliseconds(context_.now.wall.unix_ms) - absl::Milliseconds(run.record().opened_unix_ms),
                        absl::ZeroDuration());
  if (run.record().phase == v1::RUN_PHASE_FORMING)
    run.topo_deadline = context_.now.monotonic + context_.TopoTimeout(run.record().settings);
  if (run.record().phase == v1::RUN_PHASE_STOPPING) {
    run.cause_deadline = context_.now.monotonic + lifecycle_.CauseWait(run);
    if (run.record().first_failure)
      run.candidates.push_back({.cause = *run.record().first_failure, .priority = 0, .died = context_.now.monotonic});
  }
  if (run.record().phase == v1::RUN_PHASE_RECOVERING && run.record().last_abort) {
    run.candidates.push_back({.cause = *run.record().last_abort, .priority = 0, .died = context_.now.monotonic});
  }
  run.restart_at = run.aborted = context_.now.monotonic;
  run.highest_step = run.record().aborted_at_step;
  if (run.record().phase == v1::RUN_PHASE_RUNNING) {
    run.progress_deadline = context_.now.monotonic + FirstProgressLimit(run);
    run.first_progress_deadline = FirstProgressDeadline(run, context_.now.monotonic);
  }
  if (run.HasEnded()) run.forget_at = context_.now.monotonic + lifecycle_.KeepRunsFor();
  // The times of the restarts are not known any more, so count all of them as if they had happened now.
  run.restarts.assign(std::min(run.record().recent_restarts, kMaxRestarts), context_.now.monotonic);
  for (auto& [id, node] : run.nodes) Resume(run, node);
  places_.NoteHeld(run);
  context_.Schedule(run);
}

void Core::Impl::Resume(Run& run, Node& node) {
  context_.GiveHandle(run, node);
  node.last_seen = context_.now.monotonic;
  node.fence_needs_all_four = context_.options.fence_needs_all_four;
  if (node.record().is_lost && run.record().phase == v1::RUN_PHASE_RECOVERING) {
    node.missing_since = context_.now.monotonic;
    run.rejoin_deadline = context_.now.monotonic + context_.RejoinTimeout(run);
  }
  // The fence counts in full from now, because it is not known when the node was last heard.
  node.stale_end = Lifecycle::StaleEnd(node, context_.now.monotonic);
  if (!run.HasEnded() && !node.record().is_lost)
    node.grace_end = context_.now.monotonic + std::max(context_.options.lease, context_.options.disconnect_grace);
  if (run.record().phase == v1::RUN_PHASE_RUNNING && run.RestartsAlone()) {
    const bool has_failed = std::any_of(node.record().slots.begin(), node.record().slots.end(),
                                        [](const SlotState& slot) { return slot.phase == SlotState::Phase::kFailed; });
    if (has_failed) {  // the restart was charged to the budget, but the crash came before SlotRestarted was written
      node.restart_at = context_.now.monotonic;
      run.restarts.push_back(context_.now.monotonic);
    }
  }
  run.NoteReadiness(node);
  places_.NoteHeld(run, node);
  context_.Schedule(node);
}

Effects Core::Impl::Apply(const Event& event, Now now) {
  context_.now.wall = now.wall;
  context_.now.monotonic = std::max(context_.now.monotonic, now.monotonic);
  context_.effects.clear();
  context_.effects.reserve(kFewEffects);
  std::visit([this](const auto& e) { On(e); }, event);
  while (!context_.requeued.empty()) {
    for (const JoinRequested& join : std::exchange(context_.requeued, {})) On(join);
  }
  return std::exchange(context_.effects, {});
}

}  // namespace muster::scheduler
