// When to dial the scheduler, how often, and when to give up.
//
// Retries come after 100 ms, doubling to 3 s, with ±30 % jitter; a dial that brings neither welcome nor refusal within
// 15 s is given up for the next one, unless the scheduler's machine has taken it in: a scheduler that thousands dial at
// once takes them one after the other, and whoever comes again has to wait anew. Patience is counted from the last
// moment connected (at first: from the begin). What a person is told: the first failure at once, then at growing
// intervals; before the first connection a new reason at once, too, a few times.
//
// A replacement is a second stream that is dialed while one is open, to take its place: it shows a renewed certificate
// (TlsChanged), or the open one has fallen silent (HeartbeatPath). It comes
// somewhere within a span, so that thousands of agents don't come at once, and the open stream stays until the
// scheduler has welcomed the replacement. The scheduler ends the open stream when it takes the replacement, and the
// agent may hear of that end before it hears of the welcome; just so would look what another agent does that takes the
// node's place. Nobody needs to guess: whenever the open stream ends while the replacement is being dialed, the
// replacement is the dial that the agent would begin now. It brings a welcome (we had superseded ourselves) or a
// refusal (somebody else has).
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
  // `hint`: what to do if nobody is found there, said with the first failure; may be empty.
  Connector(uint64_t seed, absl::Duration patience, std::string scheduler, std::string hint)
      : jitter_(seed), patience_(patience), scheduler_(std::move(scheduler)), hint_(std::move(hint)) {}

  // A dial is due from now on.
  void Begin(MonotonicTime now);

  bool IsDialDue(MonotonicTime now) const { return phase_ == Phase::kWaiting && now >= next_at_; }
  // Returns the new connect_seq.
  uint64_t StartDial(MonotonicTime now);
  bool IsDialTimedOut(MonotonicTime now) const { return phase_ == Phase::kDialing && now >= next_at_; }

  void OnWelcome(MonotonicTime now);
  // The dial (or the replacement) has reached the scheduler's machine and waits for its turn there: its 15 s begin
  // again, and patience isn't used up before it has ended. What is worth saying is appended to `out`.
  void OnDialWaits(uint64_t connect_seq, MonotonicTime now, Effects& out);
  // The dial or the open stream failed: the next dial is scheduled; what is worth saying is appended to `out`.
  void OnFailure(const std::string& reason, MonotonicTime now, Effects& out);
  // As above, but not before `delay`.
  void OnTryLater(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);
  // So long nothing could be tried: patience doesn't count it.
  void Excuse(absl::Duration asleep) { apart_since_ = apart_since_ + asleep; }
  // No dial any more.
  void Stop() {
    phase_ = Phase::kStopped;
    DropReplacement();
  }

  // What a replacement is for; only said.
  enum class Want { kNewCertificate, kAnswers };
  // What is open or being dialed shows an old certificate, or may do so, or does not answer: a replacement is due
  // within `span`, once there is a stream to replace. What will be dialed later needs none.
  void WantReplacement(absl::Duration span, Want want, MonotonicTime now);
  Want replacement_want() const { return replacement_want_; }
  bool IsReplacementDue(MonotonicTime now) const { return replacement_seq_ == 0 && now >= replacement_at_; }
  // Returns its connect_seq.
  uint64_t StartReplacement(MonotonicTime now);
  bool IsReplacementTimedOut(MonotonicTime now) const { return replacement_seq_ != 0 && now >= replacement_at_; }
  bool IsReplacement(uint64_t connect_seq) const { return replacement_seq_ != 0 && replacement_seq_ == connect_seq; }
  // It was welcomed and is the open stream from now on; returns the connect_seq of the one that it has replaced.
  uint64_t TakeReplacement(MonotonicTime now);
  // It failed; another one comes, not before `delay`. What is worth saying is appended to `out`.
  void OnReplacementFailure(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);
  // The open stream has ended: the replacement that is being dialed is the agent's dial from now on. False if there is
  // none.
  bool PromoteReplacement(MonotonicTime now);
  // The stream that is being opened was such a replacement.
  bool IsDialingPromoted() const { return phase_ == Phase::kDialing && is_promoted_; }

  bool IsOpen() const { return phase_ == Phase::kOpen; }
  // A stream is open or being opened.
  bool HasStream() const { return phase_ == Phase::kOpen || phase_ == Phase::kDialing; }
  bool IsPatienceUsedUp(MonotonicTime now) const;
  MonotonicTime NextDeadline() const;

  // Of the stream that is open, or being opened while none is.
  uint64_t connect_seq() const { return connect_seq_; }
  uint64_t replacement_seq() const { return replacement_seq_; }  // 0: none is being dialed
  MonotonicTime dialed_at() const { return dialed_at_; }
  absl::Duration patience() const { return patience_; }
  const std::string& last_reason() const { return last_reason_; }
  // How long there has been no connection.
  absl::Duration ApartFor(MonotonicTime now) const { return now - apart_since_; }

 private:
  enum class Phase { kStopped, kWaiting, kDialing, kOpen };

  void Fail(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);
  void PlanReplacement(MonotonicTime now);
  void DropReplacement();

  Jitter jitter_;
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
  size_t news_said_ = 0;         // reasons that were told out of turn
  bool waits_for_turn_ = false;  // this dial does, and patience with it
  bool has_said_waits_ = false;  // since the last connection

  bool is_promoted_ = false;  // the last dial
  uint64_t replacement_seq_ = 0;
  MonotonicTime replacement_at_ =
      MonotonicTime::Never();  // while it is being dialed: when it is given up; else: when to dial
  MonotonicTime replacement_dialed_at_;
  absl::Duration replacement_span_;
  Want replacement_want_ = Want::kNewCertificate;
  absl::Duration replacement_back_off_;
  bool is_replacement_wanted_ = false;  // what is being dialed may already be out of date
  std::string replacement_reason_;      // that was told last
};

}  // namespace muster::agent
