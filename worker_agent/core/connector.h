// When to dial the scheduler, how often, and when to give up.
//
// Retries come after 100 ms, doubling to 3 s, with ±30 % jitter; a dial that brings neither welcome nor refusal within
// 15 s is given up for the next one. Patience is counted from the last moment connected (at first: from the begin).
// What a person is told: the first failure at once, then at growing intervals.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/jitter.h"

namespace muster::agent {

class Connector {
 public:
  Connector(uint64_t seed, absl::Duration patience, std::string scheduler)
      : jitter_(seed), patience_(patience), scheduler_(std::move(scheduler)) {}

  // A dial is due from now on.
  void Begin(MonotonicTime now);

  bool IsDialDue(MonotonicTime now) const { return phase_ == Phase::kWaiting && now >= next_at_; }
  // Returns the new connect_seq.
  uint64_t StartDial(MonotonicTime now);
  bool IsDialTimedOut(MonotonicTime now) const { return phase_ == Phase::kDialing && now >= next_at_; }

  void OnWelcome(MonotonicTime now);
  // The dial or the open stream failed: the next dial is scheduled; what is worth saying is appended to `out`.
  void OnFailure(const std::string& reason, MonotonicTime now, Effects& out);
  // As above, but not before `delay`.
  void OnTryLater(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);
  // The open stream was hung up on purpose; a dial is due at once.
  void Redial(MonotonicTime now);
  // No dial any more.
  void Stop() { phase_ = Phase::kStopped; }

  bool IsOpen() const { return phase_ == Phase::kOpen; }
  // A stream is open or being opened.
  bool HasStream() const { return phase_ == Phase::kOpen || phase_ == Phase::kDialing; }
  bool IsPatienceUsedUp(MonotonicTime now) const;
  MonotonicTime NextDeadline() const;

  uint64_t connect_seq() const { return connect_seq_; }
  MonotonicTime dialed_at() const { return dialed_at_; }
  const std::string& last_reason() const { return last_reason_; }
  // How long there has been no connection.
  absl::Duration ApartFor(MonotonicTime now) const { return now - apart_since_; }

 private:
  enum class Phase { kStopped, kWaiting, kDialing, kOpen };

  void Fail(const std::string& reason, absl::Duration delay, MonotonicTime now, Effects& out);

  Jitter jitter_;
  const absl::Duration patience_;
  const std::string scheduler_;

  Phase phase_ = Phase::kStopped;
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
};

}  // namespace muster::agent
