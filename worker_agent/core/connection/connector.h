// When to dial the scheduler, how often, and when to give up.
//
// Retries come after 100 ms, doubling to 3 s, with ±30 % jitter. A dial that brings neither welcome nor refusal within
// 15 s is given up for the next one, unless the scheduler's machine has taken it in: a scheduler that thousands dial at
// once takes them one after the other, and a new dial has to wait from the start. Patience is counted from the last
// moment connected (at first: from the begin). The first failure is logged at once, then at growing intervals; before
// the first connection a new reason is logged at once, too, a few times.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/core/connection/jitter.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class Connector {
 public:
  static constexpr absl::Duration kWelcomeTimeout = absl::Seconds(15);
  static constexpr double kSpread = 0.3;

  // A dial that has begun already, as a replacement.
  struct OngoingDial {
    uint64_t connect_seq = 0;
    MonotonicTime dialed_at;
    MonotonicTime gives_up_at;
  };

  // `jitter` outlives this. `hint`: what to do if no scheduler is found there, logged with the first failure; may be
  // empty.
  Connector(Jitter& jitter, absl::Duration patience, std::string scheduler, std::string hint)
      : jitter_(jitter), patience_(patience), scheduler_(std::move(scheduler)), hint_(std::move(hint)) {}

  // A dial is due from now on.
  void Begin(MonotonicTime now);

  bool IsDialDue(MonotonicTime now) const { return phase_ == Phase::kWaiting && now >= next_at_; }
  // Returns the new connect_seq.
  uint64_t StartDial(MonotonicTime now);
  // Returns the number for a dial beside the connector's own.
  uint64_t NextConnectSeq() { return ++last_seq_; }
  bool IsDialTimedOut(MonotonicTime now) const { return phase_ == Phase::kDialing && now >= next_at_; }

  void OnWelcome(MonotonicTime now);
  // The dial has reached the scheduler's machine and waits for its turn there: its 15 s begin
  // again, and patience isn't used up before it has ended. What is worth saying is appended to `out`.
  void OnDialWaits(uint64_t connect_seq, MonotonicTime now, Effects& out);
  // The dial or the open stream failed: the next dial is scheduled; what is worth saying is appended to `out`.
  void OnFailure(const std::string& reason, MonotonicTime now, Effects& out);
  // As above, but not before `delay`.
  void OnTryLater(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);
  // Leaves this time out of the patience: nothing could be tried during it.
  void Excuse(absl::Duration asleep) { apart_since_ = apart_since_ + asleep; }
  // Stops dialing.
  void Stop() { phase_ = Phase::kStopped; }

  // The open stream has ended: the replacement that is being dialed is the agent's dial from now on.
  void Promote(const OngoingDial& replacement, MonotonicTime now);
  // The stream that is being opened was such a replacement.
  bool IsDialingPromoted() const { return phase_ == Phase::kDialing && is_promoted_; }
  // The replacement was welcomed and is the open stream from now on; returns the connect_seq of the one before.
  uint64_t SwitchTo(const OngoingDial& replacement, MonotonicTime now);

  bool IsOpen() const { return phase_ == Phase::kOpen; }
  // A stream is open or being opened.
  bool HasStream() const { return phase_ == Phase::kOpen || phase_ == Phase::kDialing; }
  bool IsPatienceUsedUp(MonotonicTime now) const;
  MonotonicTime NextDeadline() const;

  // The number of the stream that is open, or being opened while none is.
  uint64_t connect_seq() const { return connect_seq_; }
  MonotonicTime dialed_at() const { return dialed_at_; }
  absl::Duration patience() const { return patience_; }
  const std::string& last_reason() const { return last_reason_; }
  // The time without a connection.
  absl::Duration ApartFor(MonotonicTime now) const { return now - apart_since_; }

 private:
  enum class Phase { kStopped, kWaiting, kDialing, kOpen };

  void Fail(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);

  Jitter& jitter_;
  const absl::Duration patience_;
  const std::string scheduler_;
  const std::string hint_;

  Phase phase_ = Phase::kStopped;
  uint64_t last_seq_ = 0;  // rises with each dial
  uint64_t connect_seq_ = 0;
  MonotonicTime dialed_at_;
  MonotonicTime next_at_;  // kWaiting: of the next dial; kDialing: when it is given up
  MonotonicTime apart_since_;
  absl::Duration back_off_;
  bool has_failed_ = false;  // since the last connection
  bool was_open_ = false;    // ever
  size_t times_said_ = 0;    // since the last connection
  MonotonicTime say_at_;
  std::string last_reason_;
  std::string said_reason_;
  size_t news_said_ = 0;         // reasons that were logged out of turn
  bool waits_for_turn_ = false;  // this dial does, and patience with it
  bool has_said_waits_ = false;  // since the last connection
  bool is_promoted_ = false;     // the last dial
};

}  // namespace muster::agent
