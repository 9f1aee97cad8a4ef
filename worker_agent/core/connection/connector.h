// Decides when to dial the scheduler, how often, and when to give up.
//
// Retries come after 100 ms, doubling to 3 s, with ±30 % jitter. A dial that brings neither a welcome nor a refusal
// within 15 s is given up, and the next one follows. It may take longer if the kernel of the scheduler's machine has
// accepted it (OnDialWaits): a scheduler that thousands dial at once takes them one after the other, and a new dial
// would begin at the end of the queue.
//
// The agent gives up when it has been without a connection for `patience`, counted from its last connection or from
// Begin. The first failure is logged at once, later ones at growing intervals. Before the first connection, up to three
// failures with a new reason are also logged at once.
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

  // A dial that has begun already, as a replacement (replacement.h).
  struct OngoingDial {
    uint64_t connect_seq = 0;
    MonotonicTime dialed_at;
    MonotonicTime gives_up_at;
  };

  // `jitter` outlives this. `hint`: what to do if no scheduler is found there, logged with the first failure; may be
  // empty.
  Connector(Jitter& jitter, absl::Duration patience, std::string scheduler, std::string hint)
      : jitter_(jitter), patience_(patience), scheduler_(std::move(scheduler)), hint_(std::move(hint)) {}

  // Makes the first dial due at `now`.
  void Begin(MonotonicTime now);

  bool IsDialDue(MonotonicTime now) const { return phase_ == Phase::kWaiting && now >= next_at_; }
  // Returns the new connect_seq.
  uint64_t StartDial(MonotonicTime now);
  // Returns a new connect_seq for a dial that is not the connector's own.
  uint64_t NextConnectSeq() { return ++last_seq_; }
  bool IsDialTimedOut(MonotonicTime now) const { return phase_ == Phase::kDialing && now >= next_at_; }

  void OnWelcome(MonotonicTime now);
  // The dial has reached the scheduler's machine and waits there until the scheduler takes it. Its 15 s begin again,
  // and patience does not end before the dial does. Appends messages for the user to `out`.
  void OnDialWaits(uint64_t connect_seq, MonotonicTime now, Effects& out);
  // The dial or the open stream failed. Schedules the next dial, and appends messages for the user to `out`.
  void OnFailure(const std::string& reason, MonotonicTime now, Effects& out);
  // Does the same, but the next dial comes `delay` later at the earliest.
  void OnTryLater(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);
  // Does not count this time against patience, because the agent could try nothing during it.
  void Excuse(absl::Duration asleep) { apart_since_ = apart_since_ + asleep; }
  // Stops dialing.
  void Stop() { phase_ = Phase::kStopped; }

  // The open stream has ended: the replacement that is being dialed becomes the agent's dial.
  void Promote(const OngoingDial& replacement, MonotonicTime now);
  // Returns true while the stream that is being opened was a replacement before Promote.
  bool IsDialingPromoted() const { return phase_ == Phase::kDialing && is_promoted_; }
  // The replacement was welcomed and becomes the open stream. Returns the connect_seq of the stream before it.
  uint64_t SwitchTo(const OngoingDial& replacement, MonotonicTime now);

  bool IsOpen() const { return phase_ == Phase::kOpen; }
  // Returns true if a stream is open or being opened.
  bool HasStream() const { return phase_ == Phase::kOpen || phase_ == Phase::kDialing; }
  bool IsPatienceUsedUp(MonotonicTime now) const;
  MonotonicTime NextDeadline() const;

  // Returns the connect_seq of the open stream; if none is open, that of the stream that is being opened.
  uint64_t connect_seq() const { return connect_seq_; }
  MonotonicTime dialed_at() const { return dialed_at_; }
  absl::Duration patience() const { return patience_; }
  const std::string& last_reason() const { return last_reason_; }
  // Returns for how long there has been no connection.
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
  MonotonicTime next_at_;  // kWaiting: when to dial; kDialing: when the dial is given up
  MonotonicTime apart_since_;
  absl::Duration back_off_;
  bool has_failed_ = false;  // since the last connection a dial or the stream failed
  bool was_open_ = false;    // there was a connection at some time
  size_t times_said_ = 0;    // failures logged since the last connection
  MonotonicTime say_at_;
  std::string last_reason_;
  std::string said_reason_;
  size_t news_said_ = 0;         // new reasons that were logged at once
  bool waits_for_turn_ = false;  // the dial waits on the scheduler's machine (OnDialWaits)
  bool has_said_waits_ = false;  // the message about this wait was logged since the last connection
  bool is_promoted_ = false;     // the last dial came from Promote
};

}  // namespace muster::agent
