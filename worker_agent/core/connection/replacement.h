// A second stream that is dialed while one is open, to take its place: it shows a renewed certificate (TlsChanged), or
// the open one has fallen silent (HeartbeatPath).
//
// The dial comes at a random time within a span, so that thousands of agents don't dial at once. The open stream stays
// until the scheduler has welcomed the replacement.
//
// When the scheduler takes the replacement, it ends the open stream, and the agent may see that end before the welcome.
// But the stream ends in the same way when another agent takes the node's place. The agent need not know which of the
// two has happened: if the open stream ends while the replacement is being dialed, the replacement becomes the agent's
// next dial. It brings a welcome (our own replacement ended the stream) or a refusal (another agent did).
//
//   state      at_                     seq_   until
//   none       Never                   0      Want, or the welcome of a dial during which Want was called
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
  // The purpose of a replacement: to show a new certificate, or to get answers where the open stream is silent.
  enum class Purpose { kNewCertificate, kAnswers };

  // `jitter` outlives this.
  Replacement(Jitter& jitter, std::string scheduler) : jitter_(jitter), scheduler_(std::move(scheduler)) {}

  // Plans a replacement within `span`, because the connector's stream or dial may show an old certificate, or does not
  // answer. If the stream is still being dialed, plans it after the welcome. Without a stream none is needed: the next
  // dial shows the new certificate.
  void Want(absl::Duration span, Purpose purpose, const Connector& connector, MonotonicTime now);
  bool IsDue(MonotonicTime now) const { return seq_ == 0 && now >= at_; }
  // The replacement is being dialed, with this `connect_seq`.
  void Start(uint64_t connect_seq, MonotonicTime now);
  bool IsTimedOut(MonotonicTime now) const { return seq_ != 0 && now >= at_; }
  bool IsDialed() const { return seq_ != 0; }
  bool Is(uint64_t connect_seq) const { return seq_ != 0 && seq_ == connect_seq; }
  // See Connector::OnDialWaits.
  void OnDialWaits(MonotonicTime now) { at_ = now + Connector::kWelcomeTimeout; }
  // The replacement failed. Plans another one, `delay` later at the earliest, and appends messages for the user to
  // `out`.
  void OnFailure(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);
  // Does the same, and also hangs up the replacement's stream.
  void GiveUp(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);

  // Hands the replacement over: the connector makes it the agent's dial or stream.
  Connector::OngoingDial Take();
  // The connector begins a dial, which shows the new certificate.
  void OnDial() { is_wanted_ = false; }
  // The connector's stream was welcomed: its own dial, or a replacement.
  void OnWelcome(MonotonicTime now);
  // The connector has no stream any more, so there is nothing to replace.
  void Drop();

  // Returns the message that the replacement has taken the place of the open stream.
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
  bool is_wanted_ = false;  // the present dial may show an old certificate: replace it, too
  std::string reason_;      // the reason of the failure that was logged last
};

}  // namespace muster::agent
