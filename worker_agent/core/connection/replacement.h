// A second stream that is dialed while one is open, to take its place: it shows a renewed certificate (TlsChanged), or
// the open one has fallen silent (HeartbeatPath).
//
// It comes somewhere within a span, so that thousands of agents don't come at once, and the open stream stays until the
// It comes somewhere within a span, so that thousands of agents don't come at once, and the open stream stays until the
// scheduler has welcomed the replacement. The scheduler ends the open stream when it takes the replacement, and the
// agent may see that end before the welcome; it looks the same when another agent takes the node's place. The agent
// need not guess: if the open stream ends while the replacement is being dialed, the replacement is the dial that the
// agent would begin now. It brings a welcome (we had superseded ourselves) or a refusal (another agent has).
//
//   state      dials_at_/gives_up_at   seq_   until
//   none       Never                   0      Want, or the welcome of a dial during which one was wanted
//   planned    when to dial            0      Start
//   dialed     when it is given up     > 0    it is taken, has failed (planned again, later each time), or is dropped
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/core/connection/connector.h"
#include "worker_agent/core/connection/jitter.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class Replacement {
 public:
  // The purpose of a replacement, for messages only.
  enum class Purpose { kNewCertificate, kAnswers };

  // `jitter` outlives this.
  Replacement(Jitter& jitter, std::string scheduler) : jitter_(jitter), scheduler_(std::move(scheduler)) {}

  // The connector's stream or dial shows an old certificate, or may do so, or does not answer: a replacement is due
  // within `span`, once there is a stream to replace. Later dials need none.
  void Want(absl::Duration span, Purpose purpose, const Connector& connector, MonotonicTime now);
  bool IsDue(MonotonicTime now) const { return seq_ == 0 && now >= at_; }
  // It is being dialed, as `connect_seq`.
  void Start(uint64_t connect_seq, MonotonicTime now);
  bool IsTimedOut(MonotonicTime now) const { return seq_ != 0 && now >= at_; }
  bool IsDialed() const { return seq_ != 0; }
  bool Is(uint64_t connect_seq) const { return seq_ != 0 && seq_ == connect_seq; }
  // See Connector::OnDialWaits.
  void OnDialWaits(MonotonicTime now) { at_ = now + Connector::kWelcomeTimeout; }
  // It failed; another one comes, not before `delay`. What is worth saying is appended to `out`.
  void OnFailure(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);
  // It failed, and its stream is to be hung up.
  void GiveUp(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);

  // It is the agent's dial or stream from now on: to be handed to the connector.
  Connector::OngoingDial Take();
  // A dial of the connector's begins: it shows what is new.
  void OnDial() { is_wanted_ = false; }
  // The connector's stream is open, from either dial.
  void OnWelcome(MonotonicTime now);
  // The connector has no stream any more.
  void Drop();

  // It has taken the place of the open stream.
  Say SayTaken() const;

  MonotonicTime NextDeadline() const { return at_; }

 private:
  void Plan(MonotonicTime now);

  Jitter& jitter_;
  const std::string scheduler_;
  uint64_t seq_ = 0;  // 0: none is being dialed
  MonotonicTime at_ = MonotonicTime::Never();
  MonotonicTime dialed_at_;
  absl::Duration span_;
  Purpose purpose_ = Purpose::kNewCertificate;
  absl::Duration back_off_;
  bool is_wanted_ = false;  // the dial under way may already be out of date
  std::string reason_;      // the one that was logged last
};

}  // namespace muster::agent
