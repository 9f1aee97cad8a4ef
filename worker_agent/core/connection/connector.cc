#include "worker_agent/core/connection/connector.h"

#include <algorithm>
#include <array>
#include <utility>

#include "worker_agent/core/messages.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kFirstBackOff = absl::Milliseconds(100);
constexpr absl::Duration kMaxBackOff = absl::Seconds(3);
constexpr size_t kMaxNews = 3;  // how many new reasons are logged at once

// The times after the loss of the connection at which the loss is logged again; then every five minutes.
constexpr std::array kSayAfter = {absl::Seconds(10), absl::Seconds(30), absl::Minutes(1), absl::Minutes(2),
                                  absl::Minutes(5)};

}  // namespace

void Connector::Begin(MonotonicTime now) {
  phase_ = Phase::kWaiting;
  next_at_ = now;
  apart_since_ = now;
  back_off_ = kFirstBackOff;
}

uint64_t Connector::StartDial(MonotonicTime now) {
  phase_ = Phase::kDialing;
  dialed_at_ = now;
  next_at_ = now + kWelcomeTimeout;
  waits_for_turn_ = false;
  is_promoted_ = false;
  return connect_seq_ = ++last_seq_;
}

void Connector::OnWelcome(MonotonicTime now) {
  phase_ = Phase::kOpen;
  apart_since_ = now;
  back_off_ = kFirstBackOff;
  has_failed_ = false;
  has_said_waits_ = waits_for_turn_ = false;
  was_open_ = true;
  times_said_ = 0;
}

void Connector::OnDialWaits(uint64_t connect_seq, MonotonicTime now, Effects& out) {
  if (phase_ != Phase::kDialing || connect_seq != connect_seq_) return;
  next_at_ = now + kWelcomeTimeout;
  waits_for_turn_ = true;
  if (!std::exchange(has_said_waits_, true)) out.push_back(SayDialWaits(scheduler_));
}

void Connector::OnFailure(const std::string& reason, MonotonicTime now, Effects& out) {
  const absl::Duration delay = jitter_.Around(back_off_, kSpread);
  back_off_ = std::min(back_off_ * 2, kMaxBackOff);
  Fail(reason, delay, now, out);
}

void Connector::OnTryLater(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out) {
  Fail(reason, std::max(delay, kFirstBackOff) * jitter_.Factor(1, 1 + kSpread), now, out);
}

void Connector::Promote(const OngoingDial& replacement, MonotonicTime now) {
  phase_ = Phase::kDialing;
  is_promoted_ = true;
  apart_since_ = now;
  connect_seq_ = replacement.connect_seq;
  dialed_at_ = replacement.dialed_at;
  next_at_ = replacement.gives_up_at;
}

uint64_t Connector::SwitchTo(const OngoingDial& replacement, MonotonicTime now) {
  const uint64_t replaced = std::exchange(connect_seq_, replacement.connect_seq);
  dialed_at_ = replacement.dialed_at;
  OnWelcome(now);
  return replaced;
}

void Connector::Fail(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out) {
  if (phase_ == Phase::kOpen) apart_since_ = now;
  phase_ = Phase::kWaiting;
  waits_for_turn_ = false;
  next_at_ = now + delay;
  has_failed_ = true;
  last_reason_ = reason;
  if (times_said_ > 0 && now < say_at_) {
    // An agent that was never welcomed may have a wrong setting, and the new reason may say which.
    if (was_open_ || reason == said_reason_ || news_said_ == kMaxNews) return;
    ++news_said_;
  }
  said_reason_ = reason;
  const absl::Duration apart = ApartFor(now);
  out.push_back(was_open_ ? SayApart(scheduler_, reason, times_said_ > 0 ? apart : absl::ZeroDuration(), patience_)
                          : SayWaitingForScheduler(scheduler_, reason, apart, patience_, hint_));
  ++times_said_;
  const auto* next = std::find_if(kSayAfter.begin(), kSayAfter.end(), [&](absl::Duration d) { return d > apart; });
  say_at_ = next != kSayAfter.end() ? apart_since_ + *next : now + kSayAfter.back();
}

bool Connector::IsPatienceUsedUp(MonotonicTime now) const {
  if (!has_failed_ || waits_for_turn_ || phase_ == Phase::kOpen || phase_ == Phase::kStopped) return false;
  return now >= apart_since_ + patience_;
}

MonotonicTime Connector::NextDeadline() const {
  if (phase_ == Phase::kStopped || phase_ == Phase::kOpen) return MonotonicTime::Never();
  return has_failed_ && !waits_for_turn_ ? std::min(next_at_, apart_since_ + patience_) : next_at_;
}

}  // namespace muster::agent
