// The agent's events and heartbeats: keeps events until they are acknowledged, and decides when to send them again.
//
// Events are numbered from 1 for each incarnation. A report carries the oldest unacknowledged ones, without a gap and
// at most kMaxEventsPerReport; it is due with each heartbeat, and at once if one of these events was not sent on the
// present stream yet.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/core/process_end.h"
#include "worker_agent/core/process_key.h"

namespace muster::agent {

inline constexpr size_t kMaxCommandsWaiting = 256;

class Reporter {
 public:
  // These methods cut texts that exceed their limits.
  void AddStart(const ProcessKey& key, uint64_t pid, MonotonicTime happened);
  // `has_remains`: the process ended well, and descendants of it may still exist.
  void AddEnd(const ProcessKey& key, const ProcessEnd& end, MonotonicTime happened, bool has_remains = false);
  // Drops the commands if kMaxCommandsWaiting wait already: no scheduler takes them, and the agent's log has them.
  void AddCommands(const v1::RemoteCommands& commands, MonotonicTime happened);
  // `event` comes without its number and age, which this sets.
  void Add(v1::NodeEvent event, MonotonicTime happened);
  void Acknowledge(uint64_t through);
  uint64_t AcknowledgedThrough() const { return last_number_ - pending_.size(); }
  bool IsAllAcknowledged() const { return pending_.empty(); }

  // The first heartbeat comes after `first_delay`, then every `interval`.
  void StreamOpened(MonotonicTime now, absl::Duration interval, absl::Duration first_delay);
  void StreamClosed();
  void SetInterval(absl::Duration interval);

  bool IsDue(MonotonicTime now) const;
  MonotonicTime NextDeadline() const;
  // Returns the next report, which counts as sent at `now`.
  v1::Report MakeReport(MonotonicTime now);
  // Returns the number for a heartbeat without events that is sent at `now`.
  uint64_t CountHeartbeat(MonotonicTime now);

  // Returns when the heartbeat with this number was sent, if it was one of the last ones. Forgets the older ones.
  std::optional<MonotonicTime> TakeSentAt(uint64_t heartbeat_seq);

  // Forgets all events: a scheduler that has never heard of this agent expects the numbers from 1.
  void ForgetEvents() {
    pending_.clear();
    last_number_ = sent_through_ = 0;
  }

  // Aborts if the numbers have a gap.
  void CheckInvariants() const;

 private:
  struct Pending {
    v1::NodeEvent event;
    size_t bytes = 0;
    MonotonicTime happened;
  };
  struct Sent {
    uint64_t heartbeat_seq;
    MonotonicTime at;
  };

  bool HasUnsent() const;
  // Returns how many pending events the next report contains.
  size_t Window() const;

  std::deque<Pending> pending_;
  std::deque<Sent> sent_;
  uint64_t last_number_ = 0;
  uint64_t sent_through_ = 0;  // the last event that was sent on this stream
  uint64_t heartbeat_seq_ = 0;
  bool is_open_ = false;
  absl::Duration interval_ = absl::Seconds(2);
  MonotonicTime heartbeat_at_;
};

}  // namespace muster::agent
