#include "worker_agent/core/connection/reporter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "worker_agent/core/progress.h"

namespace muster::agent {
namespace {

// The limit for heartbeats without an answer: a scheduler may take messages and never answer.
constexpr size_t kMaxUnanswered = 256;

// The limit for the events of one report. It leaves room for the progress of each slot, and 4096 bytes for everything
// else.
constexpr size_t kMaxReportBytes = kMaxSessionMessageBytes - kMaxSlotsPerNode * Progress::kMaxBytesPerSlot - 4096;
constexpr size_t kEventOverhead = 32;  // number, age, framing

std::string Cut(std::string text, size_t limit) {
  CutText(text, limit);
  return text;
}

}  // namespace

void Reporter::AddStart(const ProcessKey& key, uint64_t pid, MonotonicTime happened) {
  v1::NodeEvent event;
  v1::ProcessStarted& started = *event.mutable_started();
  started.set_round(key.round);
  started.set_slot(key.slot);
  started.set_attempt(key.attempt);
  started.set_pid(pid);
  Add(std::move(event), happened);
}

void Reporter::AddEnd(const ProcessKey& key, const ProcessEnd& end, MonotonicTime happened, bool has_remains) {
  v1::NodeEvent event;
  v1::ProcessEnded& ended = *event.mutable_ended();
  ended.set_round(key.round);
  ended.set_slot(key.slot);
  ended.set_attempt(key.attempt);
  ended.set_exit_code(end.exit.code);
  ended.set_signal(end.exit.signal);
  ended.set_core_dumped(end.exit.core_dumped);
  ended.set_was_stopped(end.was_stopped);
  ended.set_has_remains(has_remains);
  ended.set_error_message(Cut(end.error_message, kMaxErrorMessageBytes));
  if (end.memory.was_short) {
    ended.mutable_memory()->set_limit_bytes(end.memory.limit_bytes);
    ended.mutable_memory()->set_peak_bytes(end.memory.peak_bytes);
  }
  ended.set_launch_error(Cut(end.launch_error, kMaxShortTextBytes));
  ended.set_launch_reason(end.launch_reason);
  ended.set_launch_remedy(Cut(EscapeControl(end.launch_remedy), kMaxShortTextBytes));
  const size_t surplus = end.last_lines.size() - std::min(end.last_lines.size(), kMaxLastLines);
  for (size_t i = surplus; i < end.last_lines.size(); ++i) {
    ended.add_last_lines(Cut(end.last_lines[i], kMaxLastLineBytes));
  }
  ended.set_failing_line(Cut(EscapeControl(end.failing_line), kMaxLastLineBytes));
  for (size_t i = 0; i < std::min(end.kernel_lines.size(), kMaxKernelLines); ++i) {
    ended.add_kernel_lines(Cut(end.kernel_lines[i], kMaxLastLineBytes));
  }
  if (!end.exception.empty()) {
    v1::RaisedException& exception = *ended.mutable_exception();
    exception.set_type(Cut(end.exception.type, kMaxShortTextBytes));
    exception.set_message(Cut(end.exception.message, kMaxExceptionBytes));
    exception.set_file(Cut(end.exception.file, kMaxShortTextBytes));
    exception.set_line(end.exception.line);
    exception.set_is_native(end.exception.is_native);
  }
  if (end.log_file == Cut(end.log_file, kMaxLogFileBytes) && end.log_file == EscapeControl(end.log_file)) {
    ended.set_log_file(end.log_file);  // a path that would be cut or escaped is left out, because it would be wrong
  }
  Add(std::move(event), happened);
}

void Reporter::AddCommands(const v1::RemoteCommands& commands, MonotonicTime happened) {
  const auto waiting = std::count_if(pending_.begin(), pending_.end(),
                                     [](const Pending& pending) { return pending.event.has_remote_commands(); });
  if (static_cast<size_t>(waiting) >= kMaxCommandsWaiting) return;
  v1::NodeEvent event;
  v1::RemoteCommands& reported = *event.mutable_remote_commands();
  reported = commands;
  reported.set_count(std::clamp(reported.count(), 1U, kMaxCommandsCounted));
  reported.set_from(Cut(EscapeControl(reported.from()), kMaxShortTextBytes));
  reported.set_words(Cut(EscapeControl(reported.words()), kMaxShownCommandBytes));
  reported.set_why(Cut(EscapeControl(reported.why()), kMaxShortTextBytes));
  Add(std::move(event), happened);
}

void Reporter::Add(v1::NodeEvent event, MonotonicTime happened) {
  event.set_number(++last_number_);
  if (event.has_leaving()) CutText(*event.mutable_leaving()->mutable_reason(), kMaxShortTextBytes);
  const size_t bytes = event.ByteSizeLong() + kEventOverhead;
  pending_.push_back({std::move(event), bytes, happened});
}

void Reporter::Acknowledge(uint64_t through) {
  while (!pending_.empty() && pending_.front().event.number() <= through) pending_.pop_front();
}

void Reporter::StreamOpened(MonotonicTime now, absl::Duration interval, absl::Duration first_delay) {
  is_open_ = true;
  interval_ = interval;
  heartbeat_at_ = now + first_delay;
  sent_through_ = 0;
}

void Reporter::StreamClosed() {
  is_open_ = false;
  sent_.clear();
}

void Reporter::SetInterval(absl::Duration interval) {
  if (interval < interval_) heartbeat_at_ = std::min(heartbeat_at_, heartbeat_at_ - (interval_ - interval));
  interval_ = interval;
}

bool Reporter::HasUnsent() const {
  const size_t window = Window();
  return window > 0 && pending_[window - 1].event.number() > sent_through_;
}

size_t Reporter::Window() const {
  size_t bytes = 0;
  for (size_t i = 0; i < pending_.size(); ++i) {
    bytes += pending_[i].bytes;
    if (i == kMaxEventsPerReport || bytes > kMaxReportBytes) return i;
  }
  return pending_.size();
}

bool Reporter::IsDue(MonotonicTime now) const { return is_open_ && (now >= heartbeat_at_ || HasUnsent()); }

MonotonicTime Reporter::NextDeadline() const { return is_open_ ? heartbeat_at_ : MonotonicTime::Never(); }

v1::Report Reporter::MakeReport(MonotonicTime now) {
  v1::Report report;
  report.set_heartbeat_seq(CountHeartbeat(now));
  const size_t window = Window();
  for (size_t i = 0; i < window; ++i) {
    v1::NodeEvent& event = *report.add_events();
    event = pending_[i].event;
    event.set_age_ms(std::max<int64_t>(0, absl::ToInt64Milliseconds(now - pending_[i].happened)));
    sent_through_ = std::max(sent_through_, event.number());
  }
  return report;
}

uint64_t Reporter::CountHeartbeat(MonotonicTime now) {
  sent_.push_back({++heartbeat_seq_, now});
  if (sent_.size() > kMaxUnanswered) sent_.pop_front();
  heartbeat_at_ = now + interval_;
  return heartbeat_seq_;
}

std::optional<MonotonicTime> Reporter::TakeSentAt(uint64_t heartbeat_seq) {
  while (!sent_.empty() && sent_.front().heartbeat_seq < heartbeat_seq) sent_.pop_front();
  if (sent_.empty() || sent_.front().heartbeat_seq != heartbeat_seq) return std::nullopt;
  return sent_.front().at;
}

void Reporter::CheckInvariants() const {
  uint64_t expected = last_number_ - pending_.size();
  for (const Pending& pending : pending_) {
    MUSTER_CHECK(pending.event.number() == ++expected, "events are numbered without a gap");
  }
  MUSTER_CHECK(sent_.size() <= kMaxUnanswered, "unanswered heartbeats are bounded");
}

}  // namespace muster::agent
