// The states, and what changes them. "off": counted_on_ is 0. "armed": counted_on_ and falls_at_ are set. "fallen":
// only counted_on_ is set, because the scheduler has relied on the fence and may have given the ranks away.
//
//                                                       off             armed            fallen
//   welcome or answer, with timeout 0                   off             off              off
//   answer, if the fall that it sets is still ahead     arms            arms             arms
//   answer that came too late, or to an unknown         off             armed            fallen
//     heartbeat
//   welcome with the timeout that was counted on        -               arms             arms
//   welcome with another timeout, heard just now        arms            arms             arms
//   welcome with another timeout, heard long ago        off             off              off
//   the scheduler leaves, or is another one             off             off              off
//   it falls                                            off             fallen           fallen
//
// "arms": the fence is armed with the scheduler's timeout. The timeout is counted from the sending of the message that
// was answered. For an answer that is the heartbeat; for a welcome, the dial or the last heartbeat that was answered,
// whichever is later ("heard"). If the timeout is not the one that was counted on, and leaves no room for
// fence_stop_timeout or has passed already, the state becomes "off" instead.
//
// The keeper gets an order each time the fence is armed or becomes "off". If a fall is reported while the fence is off,
// the order had not reached the keeper yet, so the keeper gets it once more. From the message that the scheduler leaves
// until the next welcome, each answer counts as one with timeout 0.
#include "worker_agent/core/connection/fence.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/fence_times.h"
#include "worker_agent/core/messages.h"

namespace muster::agent {

void Fence::OnWelcome(absl::Duration timeout, MonotonicTime dialed_at, absl::Duration heartbeat_interval,
                      MonotonicTime now, Effects& out) {
  is_scheduler_leaving_ = false;
  scheduler_timeout_ = timeout;
  heard_at_ = std::max(heard_at_, dialed_at);
  // A dial may have waited for minutes until the scheduler took it. Then only the answer to the first heartbeat arms
  // the fence. The same applies after the scheduler was restarted with another timeout: until the next report it does
  // not rely on a fence here.
  const bool is_armed_now = IsTimeoutCountedOn() || now - heard_at_ < kFenceMargin;
  if (timeout == absl::ZeroDuration() || !is_armed_now) return Disarm(out);
  Arm(heard_at_, heartbeat_interval, now, out);
}

void Fence::OnAnswer(absl::Duration timeout, std::optional<MonotonicTime> sent_at, absl::Duration heartbeat_interval,
                     MonotonicTime now, Effects& out) {
  scheduler_timeout_ = is_scheduler_leaving_ ? absl::ZeroDuration() : timeout;
  if (scheduler_timeout_ == absl::ZeroDuration()) {
    Disarm(out);
  } else if (sent_at && FallsAt(*sent_at) > now) {
    // An answer that is read too late (the machine slept) arms nothing, so the armed fence falls.
    Arm(*sent_at, heartbeat_interval, now, out);
  }
  if (sent_at) heard_at_ = std::max(heard_at_, *sent_at);
}

// This is usually the scheduler's last message. A datagram that arrives later was sent earlier.
void Fence::OnSchedulerLeaving(Effects& out) {
  is_scheduler_leaving_ = true;
  scheduler_timeout_ = absl::ZeroDuration();
  Disarm(out);
}

void Fence::OnClusterChanged(Effects& out) {
  scheduler_timeout_ = absl::ZeroDuration();
  Disarm(out);
}

void Fence::OnFallen(Effects& out) {
  falls_at_.reset();
  if (counted_on_ == absl::ZeroDuration()) out.push_back(SetFence{});
}

bool Fence::IsDown(MonotonicTime now) const {
  return counted_on_ > absl::ZeroDuration() && (!falls_at_ || *falls_at_ <= now);
}

void Fence::CheckInvariants() const {
  MUSTER_CHECK(!falls_at_ || counted_on_ > absl::ZeroDuration(),
               "a fence is armed with the timeout that is counted on");
}

MonotonicTime Fence::FallsAt(MonotonicTime since) const {
  return since + (scheduler_timeout_ - stop_time_ - kFenceMargin);
}

// Returns true if the fence was armed with the scheduler's present timeout. That is false, for example, after the
// scheduler was restarted with another timeout.
bool Fence::IsTimeoutCountedOn() const {
  return counted_on_ > absl::ZeroDuration() && scheduler_timeout_ == counted_on_;
}

void Fence::Arm(MonotonicTime since, absl::Duration heartbeat_interval, MonotonicTime now, Effects& out) {
  // If fence_stop_timeout leaves no room for a heartbeat, an armed fence would end a healthy job. So it stays off, and
  // the next report says that. If only the heartbeat interval has changed, an armed fence stays armed, because the
  // scheduler relies on it.
  if (!IsTimeoutCountedOn() && scheduler_timeout_ < stop_time_ + kFenceMargin + heartbeat_interval) {
    if (!std::exchange(was_too_short_, true)) out.push_back(SayFenceTooShort(scheduler_timeout_, stop_time_));
    return Disarm(out);
  }
  if (!IsTimeoutCountedOn() && FallsAt(since) <= now) return Disarm(out);
  counted_on_ = scheduler_timeout_;
  falls_at_ = FallsAt(since);
  out.push_back(SetFence{true, *falls_at_, since});
}

void Fence::Disarm(Effects& out) {
  if (counted_on_ == absl::ZeroDuration()) return;
  counted_on_ = absl::ZeroDuration();
  falls_at_.reset();
  out.push_back(SetFence{});
}

}  // namespace muster::agent
