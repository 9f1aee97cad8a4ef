#include "scheduler/core/context/context.h"

#include <algorithm>
#include <utility>

#include "common/base/fence_times.h"
#include "common/base/limits.h"
#include "scheduler/core/context/evolve.h"
#include "scheduler/core/facts/event_log.h"

namespace muster::scheduler {

v1::Record Context::NewRecord() const {
  v1::Record record;
  record.set_unix_ms(now.wall.unix_ms);
  return record;
}

void Context::Write(v1::Record record) {
  std::vector<std::shared_ptr<const v1::JobEvent>> lines = Evolve(state, record);
  measures.Note(record);
  effects.push_back(Persist{std::move(record)});
  for (std::shared_ptr<const v1::JobEvent>& line : lines) {
    const Severity severity = SeverityOf(*line);
    effects.push_back(Announce{severity, std::move(line)});
  }
}

Message Context::NewMessage() const {
  Message message = std::make_shared<v1::SchedulerMessage>();
  message->set_term(state.record().term);
  return message;
}

void Context::Warn(const Run& run, const char* kind, std::string text) {
  v1::JobEvent event;
  SetHead(event, run);
  event.set_unix_ms(now.wall.unix_ms);
  event.set_kind(kind);
  event.set_text(std::move(text));
  effects.push_back(Announce{Severity::kWarning, std::make_shared<const v1::JobEvent>(std::move(event))});
}

void Context::SendTo(StreamId stream, Message message, bool is_urgent) {
  if (stream != 0) effects.push_back(Send{stream, std::move(message), is_urgent});
}

void Context::CloseStreamOf(StreamId stream) {
  if (stream == 0) return;
  streams.erase(stream);
  effects.push_back(CloseStream{stream});
}

void Context::Schedule(const Run& run) {
  // restart_at is a deadline only while `is_held_back` is set, which OnDue clears when the back-off has ended. Without
  // this flag, a restart_at in the past would be due again and again. A comparison with `now` could not replace the
  // flag: an event between the end of the back-off and OnDue would cancel the wake-up. Everything else that the next
  // round waits for comes as an event.
  const bool is_recovering = run.record().phase == v1::RUN_PHASE_RECOVERING;
  MonotonicTime unquit = MonotonicTime::Never();
  for (const auto& [id, one] : run.unquit) unquit = std::min(unquit, one.end);
  deadlines.Set(run.handle, std::min({unquit, run.topo_deadline, run.spare_deadline, run.cause_deadline,
                                      run.settle_deadline, run.rejoin_deadline, run.progress_deadline,
                                      run.first_progress_deadline, run.forget_at, run.store_waits.Next(),
                                      is_recovering && run.is_held_back ? run.restart_at : MonotonicTime::Never(),
                                      is_recovering ? run.look_deadline : MonotonicTime::Never()}));
}

void Context::Schedule(const Node& node) {
  const MonotonicTime challenge = node.challenger == nullptr ? MonotonicTime::Never() : node.challenger->deadline;
  deadlines.Set(node.handle, std::min({node.lease_end, node.grace_end, node.stale_end, node.restart_at, challenge}));
}

void Context::GiveHandle(Run& run) {
  run.handle = ++last_handle;
  owners[run.handle] = {.run = &run};
}

void Context::GiveHandle(Run& run, Node& node) {
  node.handle = ++last_handle;
  owners[node.handle] = {.run = &run, .node = &node};
}

absl::Duration Context::HeartbeatInterval() const {
  if (options.heartbeat_interval) return *options.heartbeat_interval;
  const absl::Duration usual = connected_nodes > 1000 ? absl::Seconds(5) : absl::Seconds(2);
  return std::min(usual, options.lease / 3);
}

absl::Duration Context::TopoTimeout(const v1::JobSettings& settings) const {
  if (!settings.has_topo_timeout_ms()) return options.topo_timeout;
  return settings.topo_timeout_ms() < 0 ? absl::InfiniteDuration() : absl::Milliseconds(settings.topo_timeout_ms());
}

absl::Duration Context::RejoinTimeout(const Run& run) const {
  return options.rejoin_timeout.value_or(TopoTimeout(run.record().settings));
}

absl::Duration Context::SpareFence() const {
  return std::min(muster::SpareFence(options.fence_stop_timeout, HeartbeatInterval()), absl::Milliseconds(kMaxFenceMs));
}

// While the scheduler is going to end, the fence is zero: see Lifecycle::SayGoingAway.
absl::Duration Context::FenceTimeout(Run& run) const {
  if (is_draining) return absl::ZeroDuration();
  if (options.fence_timeout) return absl::Ceil(*options.fence_timeout, absl::Milliseconds(1));
  if (run.record().spare_count > 0) run.fence = std::max(run.fence, absl::Ceil(SpareFence(), absl::Milliseconds(1)));
  return run.fence;
}

}  // namespace muster::scheduler
