#include "scheduler/core/core.h"

#include <algorithm>

#include "common/base/limits.h"
#include "scheduler/core/core_impl.h"
#include "scheduler/core/evolve.h"
#include "scheduler/core/snapshot.h"
#include "scheduler/core/views/event_log.h"

namespace muster::scheduler {
namespace {

constexpr size_t kFewEffects = 4;  // as most events have, also a join

}  // namespace

Core::Core(CoreOptions options, std::string cluster_id)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(cluster_id))) {}
Core::~Core() = default;
void Core::Recover(const v1::Record& record) { impl_->Recover(record); }
absl::Status Core::CheckRecovered() const { return impl_->CheckRecovered(); }
v1::Record Core::TakeSnapshot() const { return impl_->TakeSnapshotLater().make(); }
Core::LaterSnapshot Core::TakeSnapshotLater() const { return impl_->TakeSnapshotLater(); }
Effects Core::Start(Now now) { return impl_->Start(now); }
Effects Core::Apply(const Event& event, Now now) { return impl_->Apply(event, now); }
MonotonicTime Core::NextDeadline() const { return impl_->NextDeadline(); }
void Core::CheckInvariants() const { impl_->CheckInvariants(); }
std::string Core::DebugState() const { return DebugText(impl_->state()); }

Core::Impl::Impl(CoreOptions options, std::string cluster_id)
    : options_(std::move(options)), state_(std::move(cluster_id)), nodes_(options_.max_nodes) {}

Core::LaterSnapshot Core::Impl::TakeSnapshotLater() const {
  const auto draft = std::make_shared<SnapshotDraft>(DraftSnapshot(state_));
  return {[draft, record = NewRecord()]() mutable {
            *record.mutable_snapshot() = Complete(std::move(*draft));
            return std::move(record);
          },
          draft->snapshot.ByteSizeLong() + draft->store_bytes};
}

void Core::Impl::Recover(const v1::Record& record) { Evolve(state_, record); }

Effects Core::Impl::Start(Now now) {
  now_ = started_ = now;
  effects_.clear();
  if (state_.record().term == 0) {
    v1::Record founded = NewRecord();
    founded.mutable_cluster_founded()->set_cluster_id(state_.record().cluster_id);
    Write(std::move(founded));
  }
  v1::Record term = NewRecord();
  term.mutable_term_begun()->set_term(state_.record().term + 1);
  Write(std::move(term));
  for (auto& [job_id, job] : state_.jobs) {
    for (auto& [number, run] : job.runs) {
      GiveHandles(run);
      if (run.record().peer_list != nullptr && !run.HasEnded()) {
        effects_.push_back(PublishPeers{job_id, number, run.record().round, run.record().peer_list});
      }
      run.is_settled = run.HasEnded();
      if (options_.is_once && !run.HasEnded()) once_job_ = job_id;
    }
  }
  if (options_.is_once && !once_job_) {
    once_handle_ = ++last_handle_;
    once_deadline_ = now_.monotonic + TopoTimeout(options_.settings);
    deadlines_.Set(once_handle_, once_deadline_);
  }
  return std::exchange(effects_, {});
}

// After a crash every node counts as disconnected and every deadline restarts in full.
void Core::Impl::GiveHandles(Run& run) {
  run.handle = ++last_handle_;
  owners_[run.handle] = {.run = &run};
  // Only shown, so the wall clock will do.
  run.opened =
      now_.monotonic - std::max(absl::Milliseconds(now_.wall.unix_ms) - absl::Milliseconds(run.record().opened_unix_ms),
                                absl::ZeroDuration());
  if (run.record().phase == v1::RUN_PHASE_FORMING)
    run.topo_deadline = now_.monotonic + TopoTimeout(run.record().settings);
  if (run.record().phase == v1::RUN_PHASE_STOPPING) {
    run.cause_deadline = now_.monotonic + kCauseWait;
    if (run.record().first_failure)
      run.candidates.push_back({.cause = *run.record().first_failure, .priority = 0, .died = now_.monotonic});
  }
  if (run.record().phase == v1::RUN_PHASE_RECOVERING && run.record().last_abort) {
    run.candidates.push_back({.cause = *run.record().last_abort, .priority = 0, .died = now_.monotonic});
  }
  run.restart_at = run.aborted = now_.monotonic;
  run.highest_step = run.record().aborted_at_step;
  if (run.HasEnded()) run.forget_at = now_.monotonic + KeepRunsFor();
  // When each was made isn't known any more.
  run.restarts.assign(std::min(run.record().recent_restarts, kMaxRestarts), now_.monotonic);
  for (auto& [id, node] : run.nodes) {
    node.handle = ++last_handle_;
    owners_[node.handle] = {.run = &run, .node = &node};
    node.last_seen = now_.monotonic;
    if (node.record().is_lost && run.record().phase == v1::RUN_PHASE_RECOVERING) {
      node.missing_since = now_.monotonic;
      run.rejoin_deadline = now_.monotonic + RejoinTimeout(run);
    }
    node.stale_end = StaleEnd(node, now_.monotonic);  // out in full: when it was last heard isn't known
    if (!run.HasEnded() && !node.record().is_lost)
      node.grace_end = now_.monotonic + std::max(options_.lease, options_.disconnect_grace);
    if (run.record().phase == v1::RUN_PHASE_RUNNING && RestartsAlone(run)) {
      node.restart_at = now_.monotonic;
      // Taken from the budget, but not told to the journal before the process started again.
      const bool has_failed =
          std::any_of(node.record().slots.begin(), node.record().slots.end(),
                      [](const SlotState& slot) { return slot.phase == SlotState::Phase::kFailed; });
      if (has_failed) run.restarts.push_back(now_.monotonic);
    }
    NoteReadiness(run, node);
    NoteHeld(run, node);
    Schedule(node);
  }
  NoteHeld(run);
  Schedule(run);
}

Effects Core::Impl::Apply(const Event& event, Now now) {
  now_.wall = now.wall;
  now_.monotonic = std::max(now_.monotonic, now.monotonic);
  effects_.clear();
  effects_.reserve(kFewEffects);
  std::visit([this](const auto& e) { On(e); }, event);
  while (!requeued_.empty()) {
    for (const JoinRequested& join : std::exchange(requeued_, {})) On(join);
  }
  return std::exchange(effects_, {});
}

v1::Record Core::Impl::NewRecord() const {
  v1::Record record;
  record.set_unix_ms(now_.wall.unix_ms);
  return record;
}

void Core::Impl::Write(v1::Record record) {
  std::shared_ptr<const v1::StoryEvent> line = Evolve(state_, record);
  effects_.push_back(Persist{std::move(record)});
  if (line == nullptr) return;
  const Severity severity = SeverityOf(*line);
  effects_.push_back(Announce{severity, std::move(line)});
}

Core::Impl::Message Core::Impl::NewMessage() const {
  Message message = std::make_shared<v1::SchedulerMessage>();
  message->set_term(state_.record().term);
  return message;
}

void Core::Impl::SendTo(StreamId stream, Message message, bool is_urgent) {
  if (stream != 0) effects_.push_back(Send{stream, std::move(message), is_urgent});
}

void Core::Impl::CloseStreamOf(StreamId stream) {
  if (stream == 0) return;
  streams_.erase(stream);
  effects_.push_back(CloseStream{stream});
}

void Core::Impl::Detach(Run& run, Node& node) {
  if (node.stream == 0) return;
  node.stream = 0;
  node.lease_end = MonotonicTime::Never();
  --connected_nodes_;
  NoteReadiness(run, node);
  NoteHeld(run, node);
}

}  // namespace muster::scheduler
