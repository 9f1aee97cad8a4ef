#include "worker_agent/core/connection/replacement.h"

#include <algorithm>
#include <utility>

#include "worker_agent/core/messages.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kFirstReplacementBackOff = absl::Seconds(3);
constexpr absl::Duration kMaxReplacementBackOff = absl::Minutes(1);

}  // namespace

void Replacement::Want(absl::Duration span, Purpose purpose, const Connector& connector, MonotonicTime now) {
  // A replacement that is planned or being dialed will get answers, too, even if it has another purpose.
  if (purpose == Purpose::kAnswers && (seq_ != 0 || at_ != MonotonicTime::Never())) return;
  span_ = span;
  purpose_ = purpose;
  if (connector.IsOpen() && seq_ == 0) return Plan(now);
  is_wanted_ = connector.HasStream();
}

void Replacement::Plan(MonotonicTime now) {
  // A replacement that is planned already will show the certificate that is the newest when it is dialed.
  at_ = std::min(at_, now + span_ * jitter_.Factor(0, 1));
}

void Replacement::Start(uint64_t connect_seq, MonotonicTime now) {
  seq_ = connect_seq;
  dialed_at_ = now;
  at_ = now + Connector::kWelcomeTimeout;
  is_wanted_ = false;
}

void Replacement::OnFailure(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out) {
  seq_ = 0;
  is_wanted_ = false;  // the next replacement shows the newest certificate
  at_ = now + std::max(delay, back_off_) * jitter_.Factor(1, 1 + Connector::kSpread);
  back_off_ = std::min(back_off_ * 2, kMaxReplacementBackOff);
  if (reason == reason_) return;
  reason_ = reason;
  out.push_back(purpose_ == Purpose::kAnswers ? SayStillSilent(scheduler_, reason)
                                              : SayNotRelieved(scheduler_, reason));
}

void Replacement::GiveUp(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out) {
  out.push_back(HangUp{seq_});
  OnFailure(reason, delay, now, out);
}

Connector::OngoingDial Replacement::Take() {
  return {std::exchange(seq_, 0), dialed_at_, std::exchange(at_, MonotonicTime::Never())};
}

void Replacement::OnWelcome(MonotonicTime now) {
  back_off_ = kFirstReplacementBackOff;
  reason_.clear();
  if (std::exchange(is_wanted_, false)) Plan(now);
}

void Replacement::Drop() {
  seq_ = 0;
  at_ = MonotonicTime::Never();
  is_wanted_ = false;
}

Say Replacement::SayTaken() const {
  return purpose_ == Purpose::kAnswers ? SayAnswersAgain(scheduler_) : SayReplaced();
}

}  // namespace muster::agent
