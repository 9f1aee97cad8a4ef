#include "worker_agent/core/connector.h"

#include <algorithm>
#include <array>
#include <utility>

#include "worker_agent/core/messages.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kFirstBackOff = absl::Milliseconds(100);
constexpr absl::Duration kLongestBackOff = absl::Seconds(3);
constexpr absl::Duration kWelcomeTimeout = absl::Seconds(15);
constexpr double kSpread = 0.3;
constexpr absl::Duration kFirstReliefBackOff = absl::Seconds(3);
constexpr absl::Duration kLongestReliefBackOff = absl::Minutes(1);

// How long after the connection was lost a person hears of it again; then every five minutes.
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
  is_relief_wanted_ = false;
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
  relief_back_off_ = kFirstReliefBackOff;
  relief_reason_.clear();
  if (std::exchange(is_relief_wanted_, false)) PlanRelief(now);
}

void Connector::OnDialWaits(uint64_t connect_seq, MonotonicTime now, Effects& out) {
  if (IsRelief(connect_seq)) {
    relief_at_ = now + kWelcomeTimeout;
    return;
  }
  if (phase_ != Phase::kDialing || connect_seq != connect_seq_) return;
  next_at_ = now + kWelcomeTimeout;
  waits_for_turn_ = true;
  if (!std::exchange(has_said_waits_, true)) out.push_back(SayDialWaits(scheduler_));
}

void Connector::OnFailure(const std::string& reason, MonotonicTime now, Effects& out) {
  const absl::Duration delay = jitter_.Around(back_off_, kSpread);
  back_off_ = std::min(back_off_ * 2, kLongestBackOff);
  Fail(reason, delay, now, out);
}

void Connector::OnTryLater(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out) {
  Fail(reason, std::max(delay, kFirstBackOff) * jitter_.Factor(1, 1 + kSpread), now, out);
}

void Connector::WantRelief(absl::Duration span, MonotonicTime now) {
  relief_span_ = span;
  if (phase_ == Phase::kOpen && relief_seq_ == 0) return PlanRelief(now);
  is_relief_wanted_ = phase_ == Phase::kOpen || phase_ == Phase::kDialing;
}

void Connector::PlanRelief(MonotonicTime now) {
  // One that is planned already will show whatever is new then.
  relief_at_ = std::min(relief_at_, now + relief_span_ * jitter_.Factor(0, 1));
}

void Connector::DropRelief() {
  relief_seq_ = 0;
  relief_at_ = MonotonicTime::Never();
  is_relief_wanted_ = false;
}

uint64_t Connector::StartRelief(MonotonicTime now) {
  relief_dialed_at_ = now;
  relief_at_ = now + kWelcomeTimeout;
  is_relief_wanted_ = false;
  return relief_seq_ = ++last_seq_;
}

uint64_t Connector::TakeRelief(MonotonicTime now) {
  const uint64_t relieved = std::exchange(connect_seq_, std::exchange(relief_seq_, 0));
  dialed_at_ = relief_dialed_at_;
  relief_at_ = MonotonicTime::Never();
  OnWelcome(now);
  return relieved;
}

void Connector::OnReliefFailure(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out) {
  relief_seq_ = 0;
  is_relief_wanted_ = false;  // the next one shows whatever is new then
  relief_at_ = now + std::max(delay, relief_back_off_) * jitter_.Factor(1, 1 + kSpread);
  relief_back_off_ = std::min(relief_back_off_ * 2, kLongestReliefBackOff);
  if (reason == relief_reason_) return;
  relief_reason_ = reason;
  out.push_back(SayNotRelieved(scheduler_, reason));
}

bool Connector::PromoteRelief(MonotonicTime now) {
  if (relief_seq_ == 0) return false;
  phase_ = Phase::kDialing;
  is_promoted_ = true;
  apart_since_ = now;
  connect_seq_ = std::exchange(relief_seq_, 0);
  dialed_at_ = relief_dialed_at_;
  next_at_ = std::exchange(relief_at_, MonotonicTime::Never());
  return true;
}

void Connector::Fail(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out) {
  if (phase_ == Phase::kOpen) apart_since_ = now;
  phase_ = Phase::kWaiting;
  waits_for_turn_ = false;
  DropRelief();
  next_at_ = now + delay;
  has_failed_ = true;
  last_reason_ = reason;
  if (times_said_ > 0 && now < say_at_) return;
  const absl::Duration apart = ApartFor(now);
  out.push_back(was_open_ ? SayApart(scheduler_, reason, times_said_ > 0 ? apart : absl::ZeroDuration(), patience_)
                          : SayWaitingForScheduler(scheduler_, reason, apart, patience_));
  ++times_said_;
  const auto* next = std::find_if(kSayAfter.begin(), kSayAfter.end(), [&](absl::Duration d) { return d > apart; });
  say_at_ = next != kSayAfter.end() ? apart_since_ + *next : now + kSayAfter.back();
}

bool Connector::IsPatienceUsedUp(MonotonicTime now) const {
  if (!has_failed_ || waits_for_turn_ || phase_ == Phase::kOpen || phase_ == Phase::kStopped) return false;
  return now >= apart_since_ + patience_;
}

MonotonicTime Connector::NextDeadline() const {
  if (phase_ == Phase::kStopped) return MonotonicTime::Never();
  if (phase_ == Phase::kOpen) return relief_at_;
  return has_failed_ && !waits_for_turn_ ? std::min(next_at_, apart_since_ + patience_) : next_at_;
}

}  // namespace muster::agent
